//! QKFormer: a hierarchical transformer of spikes.
//!
//! Stages of an embedding, which reduces the map, and blocks of attention and a perceptron: token attention at large maps,
//! self attention at the last. An embedding is two to four convolutions with batch norm and neurons, to whose spikes those of a
//! 1 × 1 convolution of its input, or of an inner map, are added. Pools come before the neurons.
//!
//! Source: C. Zhou et al., *QKFormer: hierarchical spiking transformer using Q-K attention*, NeurIPS 2024.

use super::layer::{conv, fire, head, max_pool, named, norm, residual};
use super::stochastic_depth::probabilities;
use super::transformer::{Data, block, blocks, classifier};
use super::{Common, Family, Images, bounded, models, neurons};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of a QKFormer.
#[derive(Clone, Schema)]
pub(super) struct QkFormer {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the tokens of the last stage.
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
    /// Whether the state of the last neuron of self attention passes from sample to sample, as in the authors' program.
    state_across_samples: bool,
}

models! {
    "C. Zhou et al., NeurIPS 2024";
    "qkformer-cifar", "QKFormer-4-384 for CIFAR", QkFormer::new(Data::Cifar);
    "qkformer-imagenet", "QKFormer-10-384 for ImageNet", QkFormer::new(Data::ImageNet);
    "qkformer-dvs", "QKFormer-2-256 for CIFAR10-DVS and DVS Gesture", QkFormer::new(Data::Dvs);
}

/// A stage: an embedding, which reduces the map, and blocks.
struct Stage {
    /// The convolutions of the embedding: the prefix of their names, their output channels, whether a pool follows.
    convs: Vec<(&'static str, usize, bool)>,
    /// The convolutions before the shortcut, and the stride of that.
    before: usize,
    stride: usize,
    /// The number of blocks, and their attention.
    blocks: usize,
    attention: Attention,
}

/// The attention of a stage: that of tokens, or self attention, with its name.
#[derive(Clone, Copy)]
enum Attention {
    Token,
    Own(&'static str),
}

impl QkFormer {
    fn new(data: Data) -> Self {
        let [inputs, size, classes, dim, heads, depth] = match data {
            Data::Cifar => [3, 32, 10, 384, 8, 4],
            Data::ImageNet => [3, 224, 1000, 384, 6, 10],
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
            state_across_samples: false,
        }
    }

    fn stages(&self) -> Vec<Stage> {
        let (dim, a, b) = (self.dim, self.dim / 4, self.dim / 2);
        // Behind the first stage, a 1 × 1 convolution of the embedding's input is added.
        let next = |convs, blocks, attention| Stage {
            convs,
            before: 0,
            stride: 2,
            blocks,
            attention,
        };
        let last = |others| self.depth.saturating_sub(others);
        match self.data {
            Data::Cifar => vec![
                Stage {
                    convs: vec![("proj", a / 2, false), ("proj1", a, false)],
                    before: 1,
                    stride: 1,
                    blocks: 1,
                    attention: Attention::Token,
                },
                next(
                    vec![("proj3", b, false), ("proj4", b, true)],
                    1,
                    Attention::Token,
                ),
                next(
                    vec![("proj3", dim, false), ("proj4", dim, true)],
                    last(2),
                    Attention::Own("ssa"),
                ),
            ],
            Data::ImageNet => vec![
                Stage {
                    convs: vec![
                        ("proj", a / 2, true),
                        ("proj1", a, true),
                        ("proj2", a, false),
                    ],
                    before: 1,
                    stride: 2,
                    blocks: 1,
                    attention: Attention::Token,
                },
                next(
                    vec![("proj3", b, true), ("proj4", b, false)],
                    2,
                    Attention::Token,
                ),
                next(
                    vec![("proj3", dim, true), ("proj4", dim, false)],
                    last(3),
                    Attention::Own("attn"),
                ),
            ],
            Data::Dvs => vec![
                Stage {
                    convs: vec![
                        ("proj", b / 8, false),
                        ("proj1", b / 4, true),
                        ("proj2", b / 2, true),
                        ("proj3", b, true),
                    ],
                    before: 2,
                    stride: 4,
                    blocks: 1,
                    attention: Attention::Token,
                },
                next(
                    vec![("proj", dim, false), ("proj4", dim, true)],
                    last(1),
                    Attention::Own("ssa"),
                ),
            ],
        }
    }

    fn block(&self, stage: &Stage) -> [Value; 2] {
        let product = neurons::with_half_threshold(&self.common.neuron);
        let attention = match stage.attention {
            Attention::Token => {
                json!({"name": "tssa", "token-attention": self.heads, "product_neuron": product})
            }
            Attention::Own(name) => json!({
                "name": name, "self-attention": self.heads, "product_neuron": product,
                "state_across_samples": self.state_across_samples,
            }),
        };
        let prefix = match self.data {
            Data::ImageNet => "fc",
            _ => "mlp",
        };
        block(attention, [stage.width(), self.ratio], |k, outputs| {
            let map = json!({"pointwise": outputs, "bias": true});
            [
                named(&format!("{prefix}{k}_conv"), map),
                named(&format!("{prefix}{k}_bn"), norm()),
                named(&format!("{prefix}{k}_lif"), fire()),
            ]
        })
    }
}

impl Stage {
    /// The channels behind the embedding.
    fn width(&self) -> usize {
        self.convs.last().map_or(0, |(_, outputs, _)| *outputs)
    }

    fn embedding(&self) -> Vec<Value> {
        let mut parts = vec![];
        let mut main = vec![];
        for (k, &(name, outputs, pooled)) in self.convs.iter().enumerate() {
            let list = if k < self.before {
                &mut parts
            } else {
                &mut main
            };
            list.push(named(&format!("{name}_conv"), conv(outputs, 3, 1)));
            list.push(named(&format!("{name}_bn"), norm()));
            if pooled {
                list.push(named(&format!("{name}_pool"), max_pool()));
            }
            list.push(named(&format!("{name}_lif"), fire()));
        }
        let mut sum = named("", residual(main, ["", ""]));
        sum["shortcut"] = json!([
            named("proj_res_conv", conv(self.width(), 1, self.stride)),
            named("proj_res_bn", norm()),
            named("proj_res_lif", fire()),
        ]);
        parts.push(sum);
        parts
    }
}

impl Family for QkFormer {
    fn time_steps(&self) -> usize {
        self.data.time_steps()
    }

    fn layers(&self) -> Result<Vec<Value>> {
        let stages = self.stages();
        let counts: Vec<usize> = stages.iter().map(|stage| stage.blocks).collect();
        bounded(&counts, "depth")?;
        let mut skip = probabilities(self.stochastic_depth, counts.iter().sum());
        let mut layers = vec![];
        for (k, stage) in (1..).zip(&stages) {
            let embedding = stage.embedding();
            layers.push(json!({"name": format!("patch_embed{k}"), "layers": embedding}));
            let skip: Vec<f64> = skip.by_ref().take(stage.blocks).collect();
            layers.push(blocks(&format!("stage{k}"), &self.block(stage), &skip));
        }
        layers.extend(head("head", classifier(self.common.classes)));
        Ok(layers)
    }
}
