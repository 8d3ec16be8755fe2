//! The names of a framework as functions.

use super::entry::{MapConstant, Transform};
use super::network::{NetworkTensors, OurNeuron};
use super::value::NeuronRules;
use spikelet_nn::neuron::Neuron;

/// The names of a framework.
pub(super) struct Rules {
    /// The names and constants of a neuron; `None` if the framework has no such neuron.
    pub neuron: fn(&dyn Neuron) -> Option<NeuronRules>,
    /// The path in the framework of the neuron at a path.
    pub neuron_path: fn(&NetworkTensors, &str) -> String,
    /// The name in the framework of a tensor that is not a neuron's; `None` if it has no place for it.
    pub tensor: fn(&NetworkTensors, &str) -> Option<(String, Transform)>,
    /// Entries of the state dict beside the constants of a neuron, whose path in the framework is given.
    pub extras: fn(&NetworkTensors, &OurNeuron, &str) -> Vec<MapConstant>,
}

/// Names and tensors as they are.
pub(super) const OWN: Rules = Rules {
    neuron: |_| Some(NeuronRules::default()),
    neuron_path: |_, path| path.to_string(),
    tensor: |_, name| Some((name.to_string(), Transform::Same)),
    extras: |_, _, _| vec![],
};
