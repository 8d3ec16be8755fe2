//! The convolutional network of SpikingJelly's Fashion-MNIST tutorial.
//!
//! static_conv: Conv(1→C, 3×3) → BN; conv: IF → MaxPool(2) → Conv(C→C, 3×3) → BN → IF → MaxPool(2)
//! → Flatten; fc: Linear(49·C → 16·C) → IF → Linear(16·C → 10) → IF; no biases. The image is
//! constant over time, so what comes before the first neuron is computed once. The firing rates of
//! the last layer are the scores.

use super::{ImageSize, product};
use crate::layer::{BatchNorm2d, Conv2d, Flatten, Linear, Pool2d, StaticInput};
use crate::module::Sequential;
use crate::neuron;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

/// Two convolutions and two linear layers, each followed by a neuron.
///
/// | field | default | |
/// |---|---|---|
/// | `inputs`, `size` | 1, 28 | channels, height and width of an image |
/// | `channels` | 128 | of both convolutions |
/// | `hidden` | 0 | neurons of the hidden linear layer; 0 is 16 times the channels |
/// | `classes` | 10 | |
/// | `neuron` | if, v_threshold 1, hard reset to 0, atan with α = 2 | as in [`neuron::from_spec`] |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Csnn {
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
    /// The neuron's specification.
    pub neuron: Value,
}

impl Default for Csnn {
    fn default() -> Self {
        Self {
            inputs: 1,
            size: 28.into(),
            channels: 128,
            hidden: 0,
            classes: 10,
            neuron: json!({"neuron": "if", "params": {}, "surrogate": {"name": "atan", "alpha": 2.0}}),
        }
    }
}

impl Csnn {
    /// The module; parameters are `static_conv.0.weight`, `static_conv.1.weight`, …
    ///
    /// # Errors
    /// When the neuron's specification is wrong, the image is too small to be halved twice, or a size is
    /// out of range.
    pub fn module(&self) -> Result<Sequential> {
        let neuron = neuron::from_spec(&self.neuron)?;
        let c = self.channels;
        let [height, width] = self.size.halved(2)?;
        let hidden = if self.hidden == 0 {
            product(&[16, c])?
        } else {
            self.hidden
        };
        let static_conv = Sequential::new()
            .add(Conv2d::new(self.inputs, c, 3).padding(1))
            .add(BatchNorm2d::new(c));
        let conv = Sequential::new()
            .add(neuron.clone())
            .add(Pool2d::max(2))
            .add(Conv2d::new(c, c, 3).padding(1))
            .add(BatchNorm2d::new(c))
            .add(neuron.clone())
            .add(Pool2d::max(2))
            .add(Flatten);
        let fc = Sequential::new()
            .add(Linear::new(product(&[c, height, width])?, hidden))
            .add(neuron.clone())
            .add(Linear::new(hidden, self.classes))
            .add(neuron);
        Ok(Sequential::new()
            .add_named("static_conv", StaticInput(static_conv))
            .add_named("conv", conv)
            .add_named("fc", fc))
    }
}
