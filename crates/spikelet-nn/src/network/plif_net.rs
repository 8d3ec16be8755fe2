//! The convolutional network of the PLIF paper for MNIST and Fashion-MNIST, with average pooling.
//!
//! static_conv: Conv(1→C, 3×3) → BN; conv: PLIF → AvgPool(2) → Conv(C→C, 3×3) → BN → PLIF → AvgPool(2) → Flatten;
//! fc: Dropout → Linear(49·C → 16·C) → PLIF → Dropout → Linear(16·C → 10·classes) → PLIF → Voting(10); no biases. The
//! image is constant over time, so the layers before the first neuron are computed once. The means of the ten firing
//! rates of each class are the scores.
//!
//! Source: W. Fang et al., *Incorporating learnable membrane time constant to enhance learning of spiking neural
//! networks*, ICCV 2021; average pooling is in its column of ablations.

use super::{ImageSize, product};
use crate::layer::{BatchNorm2d, Conv2d, Dropout, Flatten, Linear, Pool2d, StaticInput, Voting};
use crate::module::Sequential;
use crate::neuron;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

/// Two convolutions and two linear layers with trainable time constants: 13.2 M parameters.
///
/// | field | default | |
/// |---|---|---|
/// | `inputs`, `size` | 1, 28 | channels, height and width of an image |
/// | `channels` | 128 | of both convolutions |
/// | `hidden` | 0 | neurons of the hidden linear layer; 0 is 16 times the channels |
/// | `classes`, `votes` | 10, 10 | classes, and output neurons of each class |
/// | `dropout` | 0.5 | probability of the dropout before both linear layers |
/// | `neuron` | plif, τ starts at 2, hard reset to 0 without gradient, atan with α = 2 | as in [`neuron::from_spec`] |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlifNet {
    /// Channels of an image.
    pub inputs: usize,
    /// Height and width of an image.
    pub size: ImageSize,
    /// Channels of the convolutions.
    pub channels: usize,
    /// Neurons of the hidden linear layer; 0: 16 times the channels.
    pub hidden: usize,
    /// Classes.
    pub classes: usize,
    /// Output neurons of each class.
    pub votes: usize,
    /// The probability of the dropout.
    pub dropout: f64,
    /// The neuron's specification.
    pub neuron: Value,
}

impl Default for PlifNet {
    fn default() -> Self {
        Self {
            inputs: 1,
            size: 28.into(),
            channels: 128,
            hidden: 0,
            classes: 10,
            votes: 10,
            dropout: 0.5,
            neuron: json!({
                "neuron": "plif",
                "params": {"init_tau": 2.0},
                "surrogate": {"name": "atan", "alpha": 2.0},
                "reset_grad": "detach",
            }),
        }
    }
}

impl PlifNet {
    /// The module; parameters are `static_conv.0.weight`, `static_conv.1.weight`, …, `conv.0.w`, …
    ///
    /// # Errors
    /// When the neuron's specification is wrong, the image is too small to be halved twice, or a size is
    /// out of range.
    pub fn module(&self) -> Result<Sequential> {
        let neuron = neuron::from_spec(&self.neuron)?;
        let c = self.channels;
        let [height, width] = self.size.halved(2)?;
        let hidden = match self.hidden {
            0 => product(&[16, c])?,
            given => given,
        };
        let static_conv = Sequential::new()
            .add(Conv2d::new(self.inputs, c, 3).padding(1))
            .add(BatchNorm2d::new(c));
        let conv = Sequential::new()
            .add(neuron.clone())
            .add(Pool2d::average(2))
            .add(Conv2d::new(c, c, 3).padding(1))
            .add(BatchNorm2d::new(c))
            .add(neuron.clone())
            .add(Pool2d::average(2))
            .add(Flatten);
        let fc = Sequential::new()
            .add(Dropout::new(self.dropout))
            .add(Linear::new(product(&[c, height, width])?, hidden))
            .add(neuron.clone())
            .add(Dropout::new(self.dropout))
            .add(Linear::new(hidden, product(&[self.classes, self.votes])?))
            .add(neuron)
            .add(Voting::new(self.votes));
        Ok(Sequential::new()
            .add_named("static_conv", StaticInput(static_conv))
            .add_named("conv", conv)
            .add_named("fc", fc))
    }
}
