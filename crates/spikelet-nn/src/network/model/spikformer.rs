//! Spikformer: a vision transformer of spikes.
//!
//! Four convolutions with batch norm and neurons, some followed by a max pool, and a convolution as position embedding, whose
//! spikes are added → blocks of self attention and a perceptron, whose spikes are added → mean over the tokens → Linear at each
//! time step.
//!
//! Source: Z. Zhou et al., *Spikformer: when spiking neural network meets transformer*, ICLR 2023.

use super::layer::{conv, fire, head, max_pool, named, norm, residual};
use super::stochastic_depth::probabilities;
use super::transformer::{Data, block, blocks, classifier, numbered, started};
use super::{Common, Family, Images, bounded, models, neurons};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of a Spikformer.
#[derive(Clone, Schema)]
pub(super) struct Spikformer {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the tokens.
    #[schema(at_least = 8)]
    dim: usize,
    /// Heads of the attention.
    #[schema(at_least = 1)]
    heads: usize,
    /// Number of blocks.
    #[schema(at_least = 1)]
    depth: usize,
    /// Hidden channels of the perceptron for each channel.
    #[schema(at_least = 1)]
    ratio: usize,
    /// Probability that the last block is skipped in training; that of the others grows evenly from 0.
    #[schema(from = 0.0, below = 1.0)]
    stochastic_depth: f64,
    /// Whose program it follows.
    #[schema(default = Data::Cifar)]
    data: Data,
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
            images: Images::new(inputs, size),
            common: Common::new(classes, neurons::leaky()),
            dim,
            heads,
            depth,
            ratio: 4,
            stochastic_depth: 0.0,
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

impl Family for Spikformer {
    fn time_steps(&self) -> usize {
        self.data.time_steps()
    }

    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&[self.depth], "depth")?;
        let skip: Vec<f64> = probabilities(self.stochastic_depth, self.depth).collect();
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
            "product_neuron": neurons::with_half_threshold(&self.common.neuron),
        }));
        let block = block(attention, [self.dim, self.ratio], |k, outputs| {
            let map = json!({"pointwise": outputs, "weights": mlp, "bias": true});
            [
                named(&format!("fc{k}_{suffix}"), self.started(map)),
                named(&format!("fc{k}_bn"), norm()),
                named(&format!("fc{k}_lif"), fire()),
            ]
        });
        let mut layers = vec![
            json!({"name": "patch_embed", "layers": stem}),
            blocks("block", &block, &skip),
        ];
        layers.extend(head("head", classifier(self.common.classes)));
        Ok(layers)
    }
}
