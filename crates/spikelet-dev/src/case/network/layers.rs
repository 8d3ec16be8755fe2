//! The layers of a network's specification.

use super::Forward;
use crate::case::{MOST_PRODUCTS, bounded, limited, wrong};
use serde::Deserialize;
use serde_json::Value;
use spikelet::neuron::{self, Neuron};
use spikelet::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The largest number of layers; each takes time to compile.
const MOST_LAYERS: usize = 256;

/// The largest kernel, stride or padding.
const MOST_WINDOW: usize = 1 << 10;

/// A layer of a specification.
#[derive(Clone, Deserialize)]
pub struct Layer {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    #[serde(rename = "in")]
    inputs: Option<usize>,
    #[serde(rename = "out")]
    outputs: Option<usize>,
    channels: Option<usize>,
    kernel: Option<usize>,
    stride: Option<usize>,
    #[serde(default)]
    padding: usize,
    #[serde(default)]
    bias: bool,
    eps: Option<f64>,
    momentum: Option<f64>,
    training: Option<bool>,
    #[serde(rename = "T")]
    time_steps: Option<usize>,
    #[serde(default)]
    params: Value,
    surrogate: Option<Value>,
    reset_grad: Option<Value>,
}

/// A layer that can be traced.
enum Built {
    Module(Box<dyn Module>),
    Neuron(Arc<dyn Neuron>),
    RepeatOverTime(usize),
}

/// Layers with matching sizes.
pub struct Layers {
    layers: Vec<(String, Built)>,
    /// Whether the input is one frame, which a layer repeats over time.
    one_frame: bool,
}

impl Layers {
    /// The layers, for an input of this shape.
    ///
    /// # Errors
    /// When a layer is unknown or lacks a size, sizes do not fit, or the work is too much.
    pub fn new(
        layers: &[Layer],
        input: &[usize],
        time_steps: Option<usize>,
        batch: Option<usize>,
    ) -> Result<Self> {
        if layers.len() > MOST_LAYERS {
            return Err(wrong(
                format!("it has {} layers", layers.len()),
                "give at most 256 layers",
            ));
        }
        let one_frame = layers.iter().any(|layer| layer.kind == "repeat_over_t");
        let mut sizes = match one_frame {
            true => [&[1], input].concat(),
            false => input.to_vec(),
        };
        if sizes.len() < 3 {
            return Err(wrong(
                format!("the input is {input:?}"),
                "give a batch of frames, or a sequence [T, N, …]",
            ));
        }
        bounded(&sizes)?;
        let mut names = BTreeSet::new();
        let mut built = vec![];
        let mut products = 0_usize;
        for (k, layer) in layers.iter().enumerate() {
            let name = layer.name.clone().unwrap_or_else(|| k.to_string());
            if name.is_empty() || !names.insert(name.clone()) {
                return Err(wrong(
                    format!("layer {k} is named `{name}`, as is another, or has no name"),
                    "give every layer its own name",
                ));
            }
            let at =
                |problem: String| wrong(format!("layer {k}, `{name}`: {problem}"), "correct it");
            let (module, work) = layer.build(&mut sizes).map_err(at)?;
            bounded(&sizes)?;
            products = products.saturating_add(work);
            built.push((name, module));
        }
        limited(&[products.max(1)], MOST_PRODUCTS, "products")?;
        let said = [time_steps.unwrap_or(sizes[0]), batch.unwrap_or(sizes[1])];
        crate::case::expect("the sequence", &sizes[..2], &said)?;
        if !matches!(built.last(), Some((_, Built::Neuron(_)))) {
            return Err(wrong(
                "the last layer is not a layer of neurons",
                "end with neurons, whose firing rates are the scores",
            ));
        }
        Ok(Self {
            layers: built,
            one_frame,
        })
    }

    /// Traces them.
    ///
    /// # Errors
    /// Those of the layers.
    pub fn forward(&self, cx: &Context, x: &Var) -> Result<Forward> {
        let mut x = match self.one_frame {
            true => x.repeat_over_time(1),
            false => x.clone(),
        };
        let mut inner = vec![];
        for (name, layer) in &self.layers {
            x = match layer {
                Built::Module(module) => cx.child(name, |cx| module.forward(cx, &x))?,
                Built::RepeatOverTime(steps) => x.reshape(&x.shape()[1..]).repeat_over_time(*steps),
                Built::Neuron(neuron) => {
                    let spikes = cx.child(name, |cx| neuron.forward(cx, &x))?;
                    inner.push((name.clone(), spikes.clone()));
                    spikes
                }
            };
        }
        inner.pop();
        Ok(Forward {
            spike_seq: x,
            inner,
        })
    }
}

impl Layer {
    /// The layer and the multiplications of its forward pass; `sizes` become those of its output.
    fn build(&self, sizes: &mut Vec<usize>) -> Result<(Built, usize), String> {
        let module = |module: Box<dyn Module>| Ok((Built::Module(module), 0));
        match self.kind.as_str() {
            "flatten" => {
                let all = sizes[2..].iter().product();
                sizes.truncate(2);
                sizes.push(all);
                module(Box::new(Flatten))
            }
            "linear" => {
                let outputs = need(self.outputs, "out")?;
                let inputs = fits(self.inputs, sizes[sizes.len() - 1], "in")?;
                if sizes.len() != 3 {
                    return Err("a linear layer needs [T, N, features]: flatten first".to_string());
                }
                sizes[2] = outputs;
                let work = product(&[sizes[0], sizes[1], inputs, outputs]);
                let layer = Linear::new(inputs, outputs).bias(self.bias);
                Ok((Built::Module(Box::new(layer)), work))
            }
            "conv2d" => {
                let [channels, ..] = image(sizes)?;
                let inputs = fits(self.inputs, channels, "in")?;
                let outputs = need(self.outputs, "out")?;
                let kernel = need(self.kernel, "kernel")?;
                let stride = self.stride.unwrap_or(1);
                self.slide(sizes, kernel, stride)?;
                sizes[2] = outputs;
                let work = product(&[product(sizes), inputs, kernel, kernel]);
                let layer = Conv2d::new(inputs, outputs, kernel).stride(stride);
                let layer = layer.padding(self.padding).bias(self.bias);
                Ok((Built::Module(Box::new(layer)), work))
            }
            "max_pool2d" | "avg_pool2d" => {
                let kernel = need(self.kernel, "kernel")?;
                let stride = self.stride.unwrap_or(kernel);
                self.slide(sizes, kernel, stride)?;
                let padding = self.padding;
                module(match self.kind.as_str() {
                    "max_pool2d" => {
                        Box::new(MaxPool2d::new(kernel).stride(stride).padding(padding))
                    }
                    _ => Box::new(AvgPool2d::new(kernel).stride(stride).padding(padding)),
                })
            }
            "batch_norm2d" => {
                let [channels, ..] = image(sizes)?;
                fits(self.channels, channels, "channels")?;
                if self.training == Some(false) {
                    return Err("batch norm in evaluation is not supported".to_string());
                }
                let norm = BatchNorm2d::new(channels).epsilon(self.eps.unwrap_or(1e-5));
                module(Box::new(norm.momentum(self.momentum.unwrap_or(0.1))))
            }
            "repeat_over_t" if sizes[0] == 1 => {
                sizes[0] = need(self.time_steps, "T")?;
                Ok((Built::RepeatOverTime(sizes[0]), 0))
            }
            "repeat_over_t" => Err("the input has several time steps already".to_string()),
            _ => Ok((Built::Neuron(self.neuron()?), 0)),
        }
    }

    fn neuron(&self) -> Result<Arc<dyn Neuron>, String> {
        let mut spec = serde_json::json!({"neuron": self.kind, "params": self.params});
        for (key, value) in [
            ("surrogate", &self.surrogate),
            ("reset_grad", &self.reset_grad),
        ] {
            if let Some(value) = value {
                spec[key] = value.clone();
            }
        }
        neuron::from_spec(&spec).map_err(|problem| {
            let layers =
                "flatten, linear, conv2d, max_pool2d, avg_pool2d, batch_norm2d, repeat_over_t";
            format!("neither a layer ({layers}) nor a neuron: {problem}")
        })
    }

    /// Image sizes of the output of a sliding window.
    fn slide(&self, sizes: &mut [usize], kernel: usize, stride: usize) -> Result<(), String> {
        image(sizes)?;
        let windows = [kernel, stride, self.padding.max(1)];
        if windows.iter().any(|n| !(1..=MOST_WINDOW).contains(n)) {
            return Err(format!(
                "kernel, stride and padding must be at most {MOST_WINDOW}, the first two at least 1"
            ));
        }
        for size in &mut sizes[3..] {
            let padded = *size + 2 * self.padding;
            let moved = padded.checked_sub(kernel);
            *size =
                1 + moved.ok_or(format!("a kernel of {kernel} on a side of {padded}"))? / stride;
        }
        Ok(())
    }
}

fn image(sizes: &[usize]) -> Result<[usize; 3], String> {
    match *sizes {
        [_, _, c, h, w] => Ok([c, h, w]),
        _ => Err(format!(
            "needs images [T, N, C, H, W], the sequence is {sizes:?}"
        )),
    }
}

fn need(size: Option<usize>, name: &str) -> Result<usize, String> {
    let size = size.ok_or_else(|| format!("`{name}` is missing"))?;
    match size {
        0 => Err(format!("`{name}` is 0")),
        n => Ok(n),
    }
}

/// The size that the sequence has, unless the specification names another.
fn fits(said: Option<usize>, given: usize, name: &str) -> Result<usize, String> {
    match said {
        Some(said) if said != given => Err(format!("`{name}` is {said}, the sequence has {given}")),
        _ => Ok(given),
    }
}

fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |all, &n| all.saturating_mul(n))
}
