//! Spikformer: a vision transformer of spikes.
//!
//! Four convolutions with batch norm and neurons, some followed by a max pool, and a convolution as position embedding, whose
//! spikes are added → blocks of self attention and a perceptron, whose spikes are added → mean over the tokens → Linear at each
//! time step.
//!
//! Source: Z. Zhou et al., *Spikformer: when spiking neural network meets transformer*, ICLR 2023.

use super::layer::{conv, fire, head, linear, max_pool, named, norm, residual};
use super::{Family, bounded, models, neurons};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

#[derive(Serialize, Deserialize)]
pub(super) struct Spikformer {
    inputs: usize,
    size: usize,
    classes: usize,
    neuron: Value,
    dim: usize,
    heads: usize,
    depth: usize,
    ratio: usize,
    data: Data,
}

/// What the authors' programs for different data differ in.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Data {
    Cifar,
    ImageNet,
    Dvs,
}

impl Data {
    /// The time steps of the authors' programs.
    pub fn time_steps(self) -> usize {
        match self {
            Self::Cifar | Self::ImageNet => 4,
            Self::Dvs => 16,
        }
    }
}

models! {
    "Z. Zhou et al., ICLR 2023";
    "spikformer-cifar", "Spikformer-4-384 for CIFAR", Spikformer::new(Data::Cifar);
    "spikformer-imagenet", "Spikformer-8-512 for ImageNet", Spikformer::new(Data::ImageNet);
    "spikformer-dvs", "Spikformer-2-256 for CIFAR10-DVS and DVS Gesture", Spikformer::new(Data::Dvs);
}

impl Spikformer {
    fn new(data: Data) -> Self {
        let [inputs, size, classes, dim, heads, depth] = match data {
            Data::Cifar => [3, 32, 10, 384, 12, 4],
            Data::ImageNet => [3, 224, 1000, 512, 8, 8],
            Data::Dvs => [2, 128, 10, 256, 16, 2],
        };
        Self {
            inputs,
            size,
            classes,
            neuron: neurons::leaky(),
            dim,
            heads,
            depth,
            ratio: 4,
            data,
        }
    }

    /// The initial values of the blocks: those of linear layers, where the program has them.
    fn started(&self, layer: Value) -> Value {
        match self.data {
            Data::Cifar => started(layer),
            _ => layer,
        }
    }
}

/// A layer whose weights start at N(0, 0.02) and whose biases start at 0.
pub(super) fn started(mut layer: Value) -> Value {
    (layer["init"], layer["bias_init"]) = (json!({"normal": 0.02}), json!(0.0));
    layer
}

/// `prefix` followed by a number, from the second on.
pub(super) fn numbered(prefix: &str, k: usize) -> String {
    match k {
        0 => prefix.to_string(),
        k => format!("{prefix}{k}"),
    }
}

impl Family for Spikformer {
    const OPTIONS: &'static [(&'static str, &'static str)] = &[
        ("dim", "channels of the tokens"),
        ("heads", "heads of the attention"),
        ("depth", "number of blocks"),
        (
            "ratio",
            "hidden channels of the perceptron for each channel",
        ),
        ("data", "whose program it follows: cifar, imagenet, dvs"),
    ];

    fn time_steps(&self) -> usize {
        self.data.time_steps()
    }

    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&[self.depth], "depth")?;
        let mut stem = vec![];
        for (k, part) in [8, 4, 2, 1].into_iter().enumerate() {
            stem.push(named(
                &numbered("proj_conv", k),
                conv(self.dim / part, 3, 1),
            ));
            stem.push(named(&numbered("proj_bn", k), norm()));
            stem.push(named(&numbered("proj_lif", k), fire()));
            if self.data != Data::Cifar || k >= 2 {
                stem.push(named(&numbered("maxpool", k), max_pool()));
            }
        }
        let position = vec![
            named("rpe_conv", conv(self.dim, 3, 1)),
            named("rpe_bn", norm()),
            named("rpe_lif", fire()),
        ];
        stem.push(named("", residual(position, ["", ""])));

        let (weights, suffix, mlp) = match self.data {
            Data::Cifar => ("linear", "linear", "linear"),
            Data::ImageNet => ("conv1d", "conv", "conv2d"),
            Data::Dvs => ("conv1d", "conv", "conv1d"),
        };
        let attention = self.started(json!({
            "name": "attn", "self-attention": self.heads, "weights": weights, "bias": self.data == Data::Cifar,
            "scale": if self.data == Data::Dvs { 0.25 } else { 0.125 },
            "product_neuron": neurons::with_half_threshold(&self.neuron),
        }));
        let mut perceptron = vec![];
        for (name, outputs) in [
            ("fc1", self.dim.saturating_mul(self.ratio)),
            ("fc2", self.dim),
        ] {
            let map = json!({"pointwise": outputs, "weights": mlp, "bias": true});
            perceptron.push(named(&format!("{name}_{suffix}"), self.started(map)));
            perceptron.push(named(&format!("{name}_bn"), norm()));
            perceptron.push(named(&format!("{name}_lif"), fire()));
        }
        let block = json!([
            named("", residual(vec![attention], ["", ""])),
            named("", residual(perceptron, ["mlp", ""])),
        ]);
        let mut layers = vec![
            json!({"name": "patch_embed", "layers": stem}),
            json!({"name": "block", "layers": block, "repeat": self.depth}),
        ];
        layers.extend(head("head", started(linear(self.classes))));
        Ok(layers)
    }
}
