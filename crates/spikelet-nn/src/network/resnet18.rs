//! A pre-activation spiking ResNet-18 for small images.
//!
//! Conv(3×3, 3→C) → stages of two blocks with C, 2C, 4C and 8C channels, the first block of stages 2 to 4 with stride 2 →
//! BN → LIF → mean over the image → Linear(8C → classes), at each time step. A block is
//!
//! s = LIF(BN(x)); y = Conv(LIF(BN(Conv(s)))) + shortcut(s)
//!
//! where the shortcut is Conv(1×1) with the block's stride if the shape changes, and s itself otherwise. The last
//! layer is linear: its mean over time gives the scores. Batch norm follows every sum, so that biases of convolutions
//! would cancel; there are none.
//!
//! Sources: K. He et al., *Identity mappings in deep residual networks*, ECCV 2016; Q. Meng et al., *Towards
//! memory- and time-efficient backpropagation for training spiking neural networks* (SLTT), ICCV 2023; Y. Huang et
//! al., *CLIF: complementary leaky integrate-and-fire neuron for spiking neural networks*, ICML 2024.

use super::{ImageSize, product};
use crate::layer::{AdaptiveAvgPool2d, BatchNorm2d, Conv2d, Flatten, Linear, Residual};
use crate::module::{Init, Sequential};
use crate::neuron::{self, Neuron};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;
use std::sync::Arc;

/// A residual network of seventeen convolutions and a linear layer: 11.2 M parameters.
///
/// | field | default | |
/// |---|---|---|
/// | `inputs`, `size` | 3, 32 | channels, height and width of an image |
/// | `channels` | 64 | of the first stage; each of the following stages has twice as many |
/// | `classes` | 10 | |
/// | `neuron` | lif, τ = 2, input not decayed, soft reset, rectangle with α = 1 | as in [`neuron::from_spec`] |
///
/// Initial weights of convolutions: [`Init::kaiming_normal`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResNet18 {
    /// Channels of an image.
    pub inputs: usize,
    /// Height and width of an image.
    pub size: ImageSize,
    /// Channels of the first stage.
    pub channels: usize,
    /// Classes.
    pub classes: usize,
    /// The neuron's specification.
    pub neuron: Value,
}

impl Default for ResNet18 {
    fn default() -> Self {
        Self {
            inputs: 3,
            size: 32.into(),
            channels: 64,
            classes: 10,
            neuron: json!({
                "neuron": "lif",
                "params": {"tau": 2.0, "decay_input": false, "v_reset": null},
                "surrogate": {"name": "rect", "alpha": 1.0},
            }),
        }
    }
}

impl ResNet18 {
    /// The module; parameters are `conv.weight`, `stage1.0.norm.weight`, `stage1.0.residual.main.conv1.weight`, …,
    /// `fc.weight`, `fc.bias`.
    ///
    /// # Errors
    /// When the neuron's specification is wrong, the image cannot be halved three times, or a size is out
    /// of range.
    pub fn module(&self) -> Result<Sequential> {
        let neuron = neuron::from_spec(&self.neuron)?;
        self.size.halved(3)?;
        // Checked before it is multiplied below: the weights of the last stage.
        product(&[8, self.channels, 8, self.channels, 9])?;
        let c = self.channels;
        let mut net = Sequential::new().add_named("conv", conv(self.inputs, c, 3, 1));
        let mut inputs = c;
        for (stage, outputs) in [c, 2 * c, 4 * c, 8 * c].into_iter().enumerate() {
            let stride = if stage == 0 { 1 } else { 2 };
            let blocks = Sequential::new()
                .add(block(inputs, outputs, stride, &neuron))
                .add(block(outputs, outputs, 1, &neuron));
            net = net.add_named(&format!("stage{}", stage + 1), blocks);
            inputs = outputs;
        }
        Ok(net
            .add_named("norm", BatchNorm2d::new(inputs))
            .add_named("spike", neuron)
            .add_named("pool", AdaptiveAvgPool2d::new(1))
            .add_named("flatten", Flatten)
            .add_named("fc", Linear::new(inputs, self.classes).bias(true)))
    }
}

/// A convolution that keeps the size with stride 1.
fn conv(inputs: usize, outputs: usize, kernel: usize, stride: usize) -> Conv2d {
    let fan_out = outputs.saturating_mul(kernel * kernel);
    Conv2d::new(inputs, outputs, kernel)
        .padding(kernel / 2)
        .stride(stride)
        .weight_init(Init::kaiming_normal(fan_out))
}

fn block(inputs: usize, outputs: usize, stride: usize, neuron: &Arc<dyn Neuron>) -> Sequential {
    let main = Sequential::new()
        .add_named("conv1", conv(inputs, outputs, 3, stride))
        .add_named("norm", BatchNorm2d::new(outputs))
        .add_named("spike", neuron.clone())
        .add_named("conv2", conv(outputs, outputs, 3, 1));
    let residual = match inputs == outputs && stride == 1 {
        true => Residual::new(main),
        false => Residual::new(main).shortcut(conv(inputs, outputs, 1, stride)),
    };
    Sequential::new()
        .add_named("norm", BatchNorm2d::new(inputs))
        .add_named("spike", neuron.clone())
        .add_named("residual", residual)
}
