//! MS-ResNet: residual networks whose sums are potentials, so that every convolution but the first sees spikes.
//!
//! Conv(7×7, stride 2) → BN → four stages with C, 2C, 4C and 8C channels, each with stride 2 → neuron → mean over the image →
//! Linear at each time step. A block is neuron → Conv → BN → neuron → Conv → BN, added to its input, or to BN(Conv(1×1))
//! of it where the shape changes. The weight of batch norm starts at the threshold 1/2, that of a block's second at 0.
//!
//! Source: Y. Hu et al., *Advancing spiking neural networks toward deep residual learning*, IEEE TNNLS 2024. The authors'
//! neurons fire above the threshold, these at it; the two differ at ties only, which batch norm does not have.

use super::layer::{conv, fire, group, head, linear, named, residual, with};
use super::stochastic_depth::{probabilities, skipped};
use super::{Common, Family, Images, bounded, models, neurons};
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_schema::Schema;

/// The options of a membrane-shortcut ResNet.
#[derive(Clone, Schema)]
pub(super) struct MsResNet {
    #[schema(flatten)]
    images: Images,
    #[schema(flatten)]
    common: Common,
    /// Channels of the first stage.
    #[schema(at_least = 1)]
    width: usize,
    /// Number of blocks of each stage.
    #[schema(at_least = 1)]
    blocks: [usize; 4],
    /// Whether the stem has three convolutions and shortcuts begin with a pool, as in MS-ResNet-104.
    deep: bool,
    /// Probability of dropout before the linear layer.
    #[schema(from = 0.0, below = 1.0)]
    dropout: f64,
    /// Probability that the last block is skipped in training; that of the others grows evenly from 0.
    #[schema(from = 0.0, below = 1.0)]
    stochastic_depth: f64,
}

models! {
    "Y. Hu et al., IEEE TNNLS 2024";
    "ms-resnet18", "membrane-shortcut ResNet-18 for ImageNet", MsResNet::new([2, 2, 2, 2], false);
    "ms-resnet34", "membrane-shortcut ResNet-34 for ImageNet", MsResNet::new([3, 4, 6, 3], false);
    "ms-resnet104", "membrane-shortcut ResNet-104 for ImageNet", MsResNet::new([3, 8, 32, 8], true);
}

impl MsResNet {
    fn new(blocks: [usize; 4], deep: bool) -> Self {
        Self {
            images: Images::new(3, 224),
            common: Common::new(1000, neurons::quarter()),
            width: 64,
            blocks,
            deep,
            dropout: if deep { 0.2 } else { 0.0 },
            stochastic_depth: 0.0,
        }
    }

    fn block(&self, outputs: usize, first: bool) -> Value {
        let stride = if first { 2 } else { 1 };
        let main = vec![
            fire(),
            conv(outputs, 3, stride),
            scaled(0.5),
            fire(),
            conv(outputs, 3, 1),
            scaled(0.0),
        ];
        let mut block = residual(main, ["residual_function", "shortcut"]);
        if first {
            let shortcut = match self.deep {
                true => vec![json!({"avg-pool": 2}), conv(outputs, 1, 1), scaled(0.5)],
                false => vec![conv(outputs, 1, 2), scaled(0.5)],
            };
            block["shortcut"] = Value::Array(shortcut);
        }
        block
    }
}

/// Batch norm whose weight starts at `scale`.
fn scaled(scale: f64) -> Value {
    group(vec![
        json!({"name": "bn", "layer": "batch-norm", "scale": scale}),
    ])
}

impl Family for MsResNet {
    fn time_steps(&self) -> usize {
        if self.deep { 5 } else { 6 }
    }

    fn layers(&self) -> Result<Vec<Value>> {
        bounded(&self.blocks, "blocks")?;
        let biased = |stride| with(conv(self.width, 3, stride), "bias", json!(true));
        let mut stem = match self.deep {
            true => vec![biased(2), biased(1), biased(1)],
            false => vec![conv(self.width, 7, 2)],
        };
        stem.push(scaled(0.5));
        let mut layers = vec![named("conv1", group(stem))];
        let mut skip = probabilities(self.stochastic_depth, self.blocks.iter().sum());
        for (stage, &blocks) in self.blocks.iter().enumerate() {
            let outputs = self.width.saturating_mul(1 << stage);
            let made = (0..blocks).map(|k| self.block(outputs, k == 0));
            let made = made.zip(skip.by_ref()).map(|(block, p)| skipped(block, p));
            let made = group(made.collect());
            layers.push(named(&format!("conv{}_x", stage + 2), made));
        }
        layers.push(named("mem_update", fire()));
        layers.extend(head("fc", linear(self.common.classes)));
        if self.dropout > 0.0 {
            let dropout = named("dropout", json!({"dropout": self.dropout}));
            layers.insert(layers.len() - 1, dropout);
        }
        Ok(layers)
    }
}
