//! Spike-driven transformer, version 1: sums are potentials, and all products see spikes.
//!
//! Four convolutions with batch norm, the first three with neurons, and a convolution of the spikes as position embedding,
//! which is added → blocks of spike-driven attention and a perceptron, which are added → mean over the tokens → neuron →
//! Linear at each time step.
//!
//! Source: M. Yao et al., *Spike-driven transformer*, NeurIPS 2023.

use super::layer::{conv, fire, linear, max_pool, named, norm, plain, residual};
use super::stochastic_depth::probabilities;
use super::transformer::{block, blocks, numbered, started};
use super::{Common, Family, Images, bounded, models, neurons};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of a spike-driven transformer.
#[derive(Clone, Schema)]
pub(super) struct SpikeDriven {
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
    /// Behind which of the four convolutions a max pool follows.
    pools: [bool; 4],
    /// Whether keys, values and products pass maximum filters.
    filters: bool,
}

models! {
    "M. Yao et al., NeurIPS 2023";
    "sdt-cifar", "Spike-driven transformer 2-512 for CIFAR", SpikeDriven::new([3, 32, 10, 512, 2], [false, false, true, true]);
    "sdt-imagenet", "Spike-driven transformer 8-512 for ImageNet", SpikeDriven::new([3, 224, 1000, 512, 8], [true; 4]);
    "sdt-cifar10-dvs", "Spike-driven transformer 2-256 for CIFAR10-DVS", SpikeDriven {
        filters: true, ..SpikeDriven::new([2, 64, 10, 256, 2], [false, false, true, true])
    };
    "sdt-gesture", "Spike-driven transformer 2-256 for DVS Gesture", SpikeDriven::new([2, 128, 11, 256, 2], [false, true, true, true]);
}

impl SpikeDriven {
    fn new([inputs, size, classes, dim, depth]: [usize; 5], pools: [bool; 4]) -> Self {
        Self {
            images: Images::new(inputs, size),
            common: Common::new(classes, neurons::leaky()),
            dim,
            heads: 8,
            depth,
            ratio: 4,
            stochastic_depth: 0.0,
            pools,
            filters: false,
        }
    }
}

impl Family for SpikeDriven {
    fn time_steps(&self) -> usize {
        match (self.images.inputs, self.filters) {
            (2, false) => 16,
            (2, true) => 10,
            _ => 4,
        }
    }

    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&[self.depth], "depth")?;
        let skip: Vec<f64> = probabilities(self.stochastic_depth, self.depth).collect();
        let mut stem = vec![];
        for (k, part) in [8, 4, 2, 1].into_iter().enumerate() {
            let map = started(conv(self.dim / part, 3, 1));
            stem.push(named(&numbered("proj_conv", k), map));
            stem.push(named(&numbered("proj_bn", k), norm()));
            if k < 3 {
                stem.push(named(&numbered("proj_lif", k), fire()));
            }
            if self.pools[k] {
                stem.push(named(&numbered("maxpool", k), max_pool()));
            }
        }
        let position = vec![
            named("proj_lif3", fire()),
            named("rpe_conv", started(conv(self.dim, 3, 1))),
            named("rpe_bn", norm()),
        ];
        stem.push(named("", residual(position, ["", ""])));

        let attention = started(json!({
            "name": "attn", "spike-driven-attention": self.heads, "weights": "conv2d", "filters": self.filters,
            "product_neuron": neurons::with_half_threshold(&self.common.neuron),
        }));
        let block = block(attention, [self.dim, self.ratio], |k, outputs| {
            let map = json!({"pointwise": outputs, "bias": true});
            [
                named(&format!("fc{k}_lif"), fire()),
                named(&format!("fc{k}_conv"), started(map)),
                named(&format!("fc{k}_bn"), norm()),
            ]
        });
        Ok(vec![
            json!({"name": "patch_embed", "layers": stem}),
            blocks("block", &block, &skip),
            named("mean", json!({"adaptive-avg-pool": 1})),
            named("flatten", plain("flatten")),
            named("head_lif", fire()),
            named("head", linear(self.common.classes)),
        ])
    }
}
