//! The fully connected network of SpikingFlow's MNIST tutorial: 784 – 196 – 10.
//!
//! Flatten → Linear(784, 196) → LIF → Linear(196, 10) → LIF, no biases; the firing rates of the
//! last layer are the scores.

use crate::layer::{Flatten, Linear};
use crate::module::Sequential;
use crate::neuron;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_core::Result;

/// Two linear layers, each followed by a neuron.
///
/// | field | default | |
/// |---|---|---|
/// | `inputs`, `hidden`, `classes` | 784, 196, 10 | sizes |
/// | `neuron` | lif, τ = 4, input not decayed, soft reset, atan | both layers' neuron, as in [`neuron::from_spec`] |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MnistFc {
    /// Pixels of an image.
    pub inputs: usize,
    /// Neurons of the hidden layer.
    pub hidden: usize,
    /// Classes.
    pub classes: usize,
    /// The neuron's specification.
    pub neuron: Value,
}

impl Default for MnistFc {
    fn default() -> Self {
        Self {
            inputs: 784,
            hidden: 196,
            classes: 10,
            neuron: json!({
                "neuron": "lif",
                "params": {"tau": 4.0, "decay_input": false, "v_reset": null},
                "surrogate": "atan",
            }),
        }
    }
}

impl MnistFc {
    /// The network of SpikingFlow's tutorial: `soft_pulse_lif` with τ = 100, the sigmoid with α = 1 and the
    /// soft reset gradient ([`ResetGrad::Soft`](crate::neuron::ResetGrad::Soft)).
    pub fn preset() -> Self {
        Self::preset_with(100.0)
    }

    /// [`MnistFc::preset`] with another time constant.
    pub fn preset_with(tau: f64) -> Self {
        Self {
            neuron: json!({
                "neuron": "soft_pulse_lif", "params": {"tau": tau},
                "surrogate": {"name": "sigmoid", "alpha": 1.0},
            }),
            ..Self::default()
        }
    }

    /// The module; parameters are `fc.1.weight` and `fc.3.weight`.
    ///
    /// # Errors
    /// When the neuron's specification is wrong.
    pub fn module(&self) -> Result<Sequential> {
        let neuron = neuron::from_spec(&self.neuron)?;
        let fc = Sequential::new()
            .add(Flatten)
            .add(Linear::new(self.inputs, self.hidden))
            .add(neuron.clone())
            .add(Linear::new(self.hidden, self.classes))
            .add(neuron);
        Ok(Sequential::new().add_named("fc", fc))
    }
}
