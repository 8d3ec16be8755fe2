//! Measurements of one training batch, from which the [health](crate::health) of a run is diagnosed.

mod number;

use serde::{Deserialize, Serialize};

/// Measurements of one training batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probe {
    /// The number of batches that were trained before.
    pub step: u64,
    /// The epoch of the batch, counted from 1.
    pub epoch: usize,
    /// The mean loss.
    #[serde(with = "number")]
    pub loss: f64,
    /// The inputs of the batch.
    pub inputs: Vec<InputProbe>,
    /// The layers of neurons with spikes, in the order of the forward pass.
    pub layers: Vec<LayerProbe>,
    /// The trained weights of at least two axes, in the order of the forward pass.
    pub parameters: Vec<ParameterProbe>,
}

/// An input of a batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InputProbe {
    /// The name, such as `images`.
    pub name: String,
    /// The number of elements of a sample.
    pub elements: usize,
    /// The mean over all elements.
    #[serde(with = "number")]
    pub mean: f64,
    /// The largest difference between an element of a sample and the same element of the first sample.
    #[serde(with = "number")]
    pub spread: f64,
}

/// The spikes of a layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerProbe {
    /// The path of the layer.
    pub name: String,
    /// The number of neurons.
    pub neurons: usize,
    /// Spikes for each neuron and time step.
    #[serde(with = "number")]
    pub rate: f64,
    /// The fraction of the neurons that did not fire for any sample.
    #[serde(with = "number")]
    pub dead: f64,
    /// The fraction of the neurons that fired at every time step of every sample.
    #[serde(with = "number")]
    pub saturated: f64,
    /// Whether spikes had other values than 0 and 1.
    pub graded: bool,
}

/// A trained weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParameterProbe {
    /// The name, such as `fc.1.weight`.
    pub name: String,
    /// The shape: the first axis are the outputs.
    pub shape: Vec<usize>,
    /// The norm.
    #[serde(with = "number")]
    pub norm: f64,
    /// The norm of the gradient of the loss.
    #[serde(with = "number")]
    pub gradient: f64,
}

impl ParameterProbe {
    /// The path of the layer.
    pub(crate) fn layer(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(layer, _)| layer)
    }

    /// The root mean square of the sums of weights of an output, if all inputs were 1 with random signs.
    pub(crate) fn gain(&self) -> f64 {
        let outputs = self.shape.first().copied().unwrap_or(1).max(1);
        self.norm / (outputs as f64).sqrt()
    }
}
