//! Cases of networks: spikes, scores, loss, gradients, running statistics.

use super::{Results, bounded, fields, input, raw, wrong};
use layers::Layers;
use serde::Deserialize;
use serde_json::{Value, json};
use spikelet::graph::op::HostTensor;
use spikelet::graph::{Backend, Data};
use spikelet::network::{ImageSize, Network};
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::tensors::TensorFile;
use std::sync::Arc;

mod layers;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    network: String,
    #[serde(default = "x_seq")]
    input: String,
    layers: Option<Vec<layers::Layer>>,
    loss: String,
    #[serde(rename = "T")]
    time_steps: Option<usize>,
    #[serde(alias = "N")]
    batch: Option<usize>,
    classes: Option<usize>,
    channels: Option<usize>,
    size: Option<ImageSize>,
    #[serde(flatten)]
    neuron: Value,
}

fn x_seq() -> String {
    "x_seq".to_string()
}

/// A loss of scores and labels, with the scores' name in the results.
type Loss = (&'static str, fn(&Var, &Var) -> Var);

/// The last layer's spikes and those of the layers before it, by layer.
struct Forward {
    spike_seq: Var,
    inner: Vec<(String, Var)>,
}

pub fn run(
    case: &TensorFile,
    spec: Value,
    backend: Arc<dyn Backend>,
    dtype: DType,
) -> Result<Results> {
    let spec: Spec = fields(spec)?;
    let (scores_name, loss_of) = loss(&spec)?;
    let x = input(case, &spec.input, dtype)?;
    let cx = Context::new(Mode::TRAIN, dtype);
    let tracer = cx.tracer().clone();
    let x_var = tracer.input("x", dtype, x.shape.clone());
    let forward = forward(&spec, &cx, &x_var)?;
    let labels = labels(case, &spec, &forward.spike_seq)?;
    let label = tracer.input("label", DType::I64, [labels.len()]);
    let scores = forward.spike_seq.mean(&[0]);
    let loss = loss_of(&scores, &label);
    let traced = cx.traced();

    let mut results: Vec<String> = vec![];
    let mut output = |name: String, var: &Var| {
        tracer.output(&name, var);
        results.push(name);
    };
    let parameters = traced.parameters.iter().map(|p| p.name.clone());
    let parameters = parameters.filter_map(|name| Some((tracer.find_input(&name)?, name)));
    let (mut wrt, mut names): (Vec<Var>, Vec<String>) = parameters.unzip();
    names.push(spec.input.clone());
    wrt.push(x_var);
    let grads = tracer.gradients(&loss, &wrt.iter().collect::<Vec<_>>());
    for (name, grad) in names.iter().zip(&grads) {
        output(format!("grad_{name}"), grad);
    }
    for (layer, spikes) in &forward.inner {
        output(format!("{layer}.spike_seq"), spikes);
    }
    output("spike_seq".to_string(), &forward.spike_seq);
    output(scores_name.to_string(), &scores);
    output("loss".to_string(), &loss);

    let mut store = VarStore::new(backend);
    let mut program = cx.compile(&mut store, 0)?;
    for parameter in &traced.parameters {
        let name = &parameter.name;
        let value = input(case, name, dtype)?;
        super::expect(name, &value.shape, &parameter.shape)?;
        store.insert(name, &value)?;
    }
    program.run_with([("x", host(&x)), ("label", HostTensor::I64(&labels))])?;
    let mut tensors = Results::new();
    for name in results {
        let tensor = program.get(&name)?;
        tensors.insert(name, tensor);
    }
    for buffer in &traced.buffers {
        tensors.insert(format!("{}_after", buffer.name), store.get(&buffer.name)?);
    }
    Ok(tensors)
}

fn forward(spec: &Spec, cx: &Context, x: &Var) -> Result<Forward> {
    match &spec.layers {
        Some(layers) => {
            let (time_steps, batch) = (spec.time_steps, spec.batch);
            Layers::new(layers, x.shape(), time_steps, batch)?.forward(cx, x)
        }
        None if spec.network == "cifar10-net" => cifar10_net(spec, cx, x),
        None => Err(wrong(
            "the spec has no `layers`",
            "list the layers, or name the network cifar10-net",
        )),
    }
}

/// The library's network, with the sizes and the neuron of the specification.
fn cifar10_net(spec: &Spec, cx: &Context, x: &Var) -> Result<Forward> {
    let &[time_steps, batch, inputs, height, width] = x.shape() else {
        return Err(wrong(
            "the input is not [T, N, C, H, W]",
            "give image sequences",
        ));
    };
    let part = |name: &str| spec.neuron.get(name).cloned().unwrap_or_default();
    let size: ImageSize = spec.size.unwrap_or([height, width].into());
    let [channels, classes] = [spec.channels.unwrap_or(256), spec.classes.unwrap_or(10)];
    let neuron = json!({
        "neuron": part("neuron"), "params": part("params"),
        "surrogate": part("surrogate"), "reset_grad": part("reset_grad"),
    });
    let net = Network::model(
        "cifar10-net",
        [
            ("inputs", inputs.into()),
            ("size", size.into()),
            ("channels", channels.into()),
            ("classes", classes.into()),
            ("neuron", neuron),
        ],
    )?;
    let said = [
        spec.time_steps.unwrap_or(time_steps),
        spec.batch.unwrap_or(batch),
        inputs,
        size.height,
        size.width,
    ];
    super::expect(
        &spec.input,
        &[time_steps, batch, inputs, height, width],
        &said,
    )?;
    let frames = bounded(&[time_steps, batch])?;
    bounded(&[frames, channels, height, width])?;
    bounded(&[classes])?;
    // The second convolution, at full size, is the largest of the six.
    let sizes = [frames, channels, height, width, channels, 9];
    super::limited(&sizes, super::MOST_PRODUCTS / 2, "products")?;
    Ok(Forward {
        spike_seq: net.module()?.forward(cx, x)?,
        inner: vec![],
    })
}

fn loss(spec: &Spec) -> Result<Loss> {
    let text = spec.loss.as_str();
    if text.starts_with("cross_entropy") {
        Ok(("logits", loss::cross_entropy))
    } else if text.starts_with("mean squared error") || text == "mse" {
        Ok(("output", loss::mse_one_hot))
    } else {
        Err(wrong(
            format!("its loss is `{text}`"),
            "use cross_entropy or mean squared error",
        ))
    }
}

/// The labels, one for each row of the scores.
fn labels(case: &TensorFile, spec: &Spec, spike_seq: &Var) -> Result<Vec<i64>> {
    let &[_, batch, classes] = spike_seq.shape() else {
        return Err(wrong(
            format!("the last layer gives {:?}", spike_seq.shape()),
            "end with a layer of neurons [T, N, classes]",
        ));
    };
    let label = raw(case, "label")?;
    super::expect("label", &label.shape, &[batch])?;
    let Data::I64(labels) = &label.data else {
        return Err(wrong("`label` is not I64", "give labels as I64"));
    };
    match labels.iter().find(|&&l| !(0..classes as i64).contains(&l)) {
        Some(outside) => Err(wrong(
            format!(
                "label {outside} with {classes} classes, network {}",
                spec.network
            ),
            "give labels from 0 to the number of classes − 1",
        )),
        None => Ok(labels.clone()),
    }
}
