//! QKFormer: a hierarchical transformer of spikes.
//!
//! Stages of an embedding, which reduces the map, and blocks of attention and a perceptron: token attention at large maps,
//! self attention at the last. An embedding is two to four convolutions with batch norm and neurons, to whose spikes those of a
//! 1 × 1 convolution of its input, or of an inner map, are added. Pools come before the neurons.
//!
//! Source: C. Zhou et al., *QKFormer: hierarchical spiking transformer using Q-K attention*, NeurIPS 2024.

use super::layer::{conv, fire, head, linear, max_pool, named, norm, residual};
use super::spikformer::{Data, started};
use super::{Family, bounded, models, neurons};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

#[derive(Serialize, Deserialize)]
pub(super) struct QkFormer {
    inputs: usize,
    size: usize,
    classes: usize,
    neuron: Value,
    dim: usize,
    heads: usize,
    depth: usize,
    ratio: usize,
    data: Data,
    state_across_samples: bool,
}

models! {
    "C. Zhou et al., NeurIPS 2024";
    "qkformer-cifar", "QKFormer-4-384 for CIFAR", QkFormer::new(Data::Cifar);
    "qkformer-imagenet", "QKFormer-10-384 for ImageNet", QkFormer::new(Data::ImageNet);
    "qkformer-dvs", "QKFormer-2-256 for CIFAR10-DVS and DVS Gesture", QkFormer::new(Data::Dvs);
}

/// A convolution of an embedding: the prefix of its names, its output channels, whether a pool follows.
type Conv = (&'static str, usize, bool);

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
            inputs,
            size,
            classes,
            neuron: neurons::leaky(),
            dim,
            heads,
            depth,
            ratio: 4,
            data,
            state_across_samples: false,
        }
    }

    /// Embeddings with the number of convolutions before their shortcut and its stride, and the width, the number of
    /// blocks and the attention of their stages.
    #[allow(clippy::type_complexity, reason = "a table that is read once")]
    fn stages(&self) -> Vec<((Vec<Conv>, usize, usize), (usize, usize, Attention))> {
        let (dim, a, b) = (self.dim, self.dim / 4, self.dim / 2);
        match self.data {
            Data::Cifar => vec![
                (
                    (vec![("proj", a / 2, false), ("proj1", a, false)], 1, 1),
                    (a, 1, Attention::Token),
                ),
                (
                    (vec![("proj3", b, false), ("proj4", b, true)], 0, 2),
                    (b, 1, Attention::Token),
                ),
                (
                    (vec![("proj3", dim, false), ("proj4", dim, true)], 0, 2),
                    (dim, self.depth.saturating_sub(2), Attention::Own("ssa")),
                ),
            ],
            Data::ImageNet => vec![
                (
                    (
                        vec![
                            ("proj", a / 2, true),
                            ("proj1", a, true),
                            ("proj2", a, false),
                        ],
                        1,
                        2,
                    ),
                    (a, 1, Attention::Token),
                ),
                (
                    (vec![("proj3", b, true), ("proj4", b, false)], 0, 2),
                    (b, 2, Attention::Token),
                ),
                (
                    (vec![("proj3", dim, true), ("proj4", dim, false)], 0, 2),
                    (dim, self.depth.saturating_sub(3), Attention::Own("attn")),
                ),
            ],
            Data::Dvs => vec![
                (
                    (
                        vec![
                            ("proj", b / 8, false),
                            ("proj1", b / 4, true),
                            ("proj2", b / 2, true),
                            ("proj3", b, true),
                        ],
                        2,
                        4,
                    ),
                    (b, 1, Attention::Token),
                ),
                (
                    (vec![("proj", dim, false), ("proj4", dim, true)], 0, 2),
                    (dim, self.depth.saturating_sub(1), Attention::Own("ssa")),
                ),
            ],
        }
    }

    fn block(&self, width: usize, attention: Attention) -> Value {
        let product = neurons::with_half_threshold(&self.neuron);
        let attention = match attention {
            Attention::Token => {
                json!({"name": "tssa", "token-attention": self.heads, "product_neuron": product})
            }
            Attention::Own(name) => json!({
                "name": name, "self-attention": self.heads, "product_neuron": product,
                "state_across_samples": self.state_across_samples,
            }),
        };
        let names = match self.data {
            Data::ImageNet => ["fc1", "fc2"],
            _ => ["mlp1", "mlp2"],
        };
        let outputs = [width.saturating_mul(self.ratio), width];
        let mut perceptron = vec![];
        for (name, outputs) in names.into_iter().zip(outputs) {
            let map = json!({"pointwise": outputs, "bias": true});
            perceptron.push(named(&format!("{name}_conv"), map));
            perceptron.push(named(&format!("{name}_bn"), norm()));
            perceptron.push(named(&format!("{name}_lif"), fire()));
        }
        json!([
            named("", residual(vec![attention], ["", ""])),
            named("", residual(perceptron, ["mlp", ""])),
        ])
    }
}

/// The embedding whose shortcut begins behind the first `start` convolutions and has this stride.
fn embedding((convs, start, stride): (Vec<Conv>, usize, usize)) -> Vec<Value> {
    let outputs = convs.last().map_or(0, |(_, outputs, _)| *outputs);
    let mut parts = vec![];
    let mut main = vec![];
    for (k, (name, outputs, pooled)) in convs.into_iter().enumerate() {
        let list = if k < start { &mut parts } else { &mut main };
        list.push(named(&format!("{name}_conv"), conv(outputs, 3, 1)));
        list.push(named(&format!("{name}_bn"), norm()));
        if pooled {
            list.push(named(&format!("{name}_pool"), max_pool()));
        }
        list.push(named(&format!("{name}_lif"), fire()));
    }
    let mut sum = named("", residual(main, ["", ""]));
    sum["shortcut"] = json!([
        named("proj_res_conv", conv(outputs, 1, stride)),
        named("proj_res_bn", norm()),
        named("proj_res_lif", fire()),
    ]);
    parts.push(sum);
    parts
}

impl Family for QkFormer {
    const OPTIONS: &'static [(&'static str, &'static str)] = &[
        ("dim", "channels of the tokens of the last stage"),
        ("heads", "heads of the attention"),
        ("depth", "number of blocks"),
        (
            "ratio",
            "hidden channels of the perceptron for each channel",
        ),
        ("data", "whose program it follows: cifar, imagenet, dvs"),
        (
            "state_across_samples",
            "whether the state of the last neuron of self attention passes from sample to sample, as in the authors' program",
        ),
    ];

    fn time_steps(&self) -> usize {
        self.data.time_steps()
    }

    fn layers(&self) -> Result<Vec<Value>> {
        let stages = self.stages();
        let blocks: Vec<usize> = stages.iter().map(|(_, (_, blocks, _))| *blocks).collect();
        bounded(&blocks, "depth")?;
        let mut layers = vec![];
        for (k, (embed, (width, blocks, attention))) in (1..).zip(stages) {
            layers.push(json!({"name": format!("patch_embed{k}"), "layers": embedding(embed)}));
            let block = self.block(width, attention);
            layers.push(json!({"name": format!("stage{k}"), "layers": block, "repeat": blocks}));
        }
        layers.extend(head("head", started(linear(self.classes))));
        Ok(layers)
    }
}
