//! The evidence of a diagnosis: what a run records.

use super::number;
use crate::checkpoint::EpochRecord;
use serde::{Deserialize, Serialize};

/// The number of steps after which the spikes of a network are judged.
const LATE: u64 = 100;

/// The evidence of a diagnosis. All of it is optional: less evidence means fewer findings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Facts about the run.
    pub run: RunFacts,
    /// The completed epochs.
    pub history: Vec<EpochRecord>,
    /// Measurements of training batches, in the order of their steps.
    pub probes: Vec<Probe>,
}

/// Facts about a run that do not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// The number of classes of a classifier.
    pub classes: Option<usize>,
    /// The number of training samples.
    pub train_samples: usize,
    /// The number of validation samples.
    pub validation_samples: usize,
    /// The number of test samples.
    pub test_samples: usize,
    /// The number of training steps of an epoch.
    pub steps_per_epoch: usize,
    /// Whether the run started from trained weights.
    pub pretrained: bool,
}

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

impl Evidence {
    /// The evidence of the results of epochs alone, with the values of [monitors](crate::Monitor) in them.
    pub fn of_history(history: Vec<EpochRecord>) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    /// The probe before the first update.
    pub(super) fn first_probe(&self) -> Option<&Probe> {
        self.probes.first().filter(|probe| probe.step == 0)
    }

    /// The last probe.
    pub(super) fn last_probe(&self) -> Option<&Probe> {
        self.probes.last()
    }

    /// The last probe of a run that has trained long enough to judge its spikes: neurons of a new network may be silent,
    /// and begin to fire.
    pub(super) fn late_probe(&self) -> Option<&Probe> {
        self.last_probe().filter(|probe| probe.step >= LATE)
    }

    /// The number of trained batches.
    pub(super) fn steps(&self) -> u64 {
        let of_epochs = self.history.len() * self.run.steps_per_epoch;
        let probed = self.last_probe().map_or(0, |probe| probe.step);
        probed.max(of_epochs as u64)
    }
}

impl ParameterProbe {
    /// The path of the layer.
    pub(super) fn layer(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(layer, _)| layer)
    }

    /// The root mean square of the sums of weights of an output, if all inputs were 1 with random signs.
    pub(super) fn gain(&self) -> f64 {
        let outputs = self.shape.first().copied().unwrap_or(1).max(1);
        self.norm / (outputs as f64).sqrt()
    }
}
