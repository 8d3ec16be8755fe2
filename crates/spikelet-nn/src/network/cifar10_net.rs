//! The convolutional network of SpikingFlow's CIFAR-10 tutorial.
//!
//! Three times: Conv(3×3) → BN → LIF → Conv(3×3) → MaxPool(2) → BN → LIF, all with 256 channels
//! and biases; then Flatten → Linear(256·4·4 → 10) → LIF. The firing rates of the last layer are
//! the scores.

use super::{ImageSize, product};
use crate::layer::{BatchNorm2d, Conv2d, Flatten, Linear, Pool2d};
use crate::module::Sequential;
use crate::neuron;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

/// Six convolutions and a linear layer.
///
/// | field | default | |
/// |---|---|---|
/// | `inputs`, `size` | 3, 32 | channels, height and width of an image |
/// | `channels` | 256 | of every convolution |
/// | `classes` | 10 | |
/// | `bias` | true | whether convolutions have a bias, as in the tutorial |
/// | `neuron` | lif, τ = 2, input not decayed, atan with α = 2 | as in [`neuron::from_spec`]; [`Cifar10Net::preset`] has SpikingFlow's |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cifar10Net {
    /// Channels of an image.
    pub inputs: usize,
    /// Height and width of an image.
    pub size: ImageSize,
    /// Channels of the convolutions.
    pub channels: usize,
    /// Classes.
    pub classes: usize,
    /// Whether convolutions have a bias.
    pub bias: bool,
    /// The neuron's specification.
    pub neuron: Value,
}

impl Default for Cifar10Net {
    fn default() -> Self {
        Self {
            inputs: 3,
            size: 32.into(),
            channels: 256,
            classes: 10,
            bias: true,
            neuron: json!({"neuron": "lif", "params": {"tau": 2.0, "decay_input": false}, "surrogate": {"name": "atan", "alpha": 2.0}}),
        }
    }
}

impl Cifar10Net {
    /// The network of SpikingFlow's tutorial: `soft_pulse_lif` with τ = 100, the sigmoid with α = 1 and the
    /// soft reset gradient ([`ResetGrad::Soft`](neuron::ResetGrad::Soft)).
    pub fn preset() -> Self {
        Self {
            neuron: json!({
                "neuron": "soft_pulse_lif", "params": {"tau": 100.0},
                "surrogate": {"name": "sigmoid", "alpha": 1.0},
            }),
            ..Self::default()
        }
    }

    /// The module; parameters are `conv.0.weight`, `conv.0.bias`, …
    ///
    /// # Errors
    /// When the neuron's specification is wrong, the image cannot be halved three times, or a size is out
    /// of range.
    pub fn module(&self) -> Result<Sequential> {
        let neuron = neuron::from_spec(&self.neuron)?;
        let c = self.channels;
        let [height, width] = self.size.halved(3)?;
        let mut conv = Sequential::new();
        for stage in 0..3 {
            let inputs = if stage == 0 { self.inputs } else { c };
            conv = conv
                .add(Conv2d::new(inputs, c, 3).padding(1).bias(self.bias))
                .add(BatchNorm2d::new(c))
                .add(neuron.clone())
                .add(Conv2d::new(c, c, 3).padding(1).bias(self.bias))
                .add(Pool2d::max(2))
                .add(BatchNorm2d::new(c))
                .add(neuron.clone());
        }
        let fc = Sequential::new()
            .add(Flatten)
            .add(Linear::new(product(&[c, height, width])?, self.classes))
            .add(neuron);
        Ok(Sequential::new()
            .add_named("conv", conv)
            .add_named("fc", fc))
    }
}
