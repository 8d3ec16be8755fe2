//! Norse 1.1: no constants are in the state dict.
//!
//! | neuron | there | entries |
//! |---|---|---|
//! | `NorseLif` | `LIFCell`, `LIF` | none |
//! | layer `LifRecurrent` | `LIFRecurrentCell`, `LIFRecurrent` | `input_weights` [hidden, in], `recurrent_weights` [hidden, hidden], without biases |
//! | `Lif` with `decay_input` | `LIFBoxCell` with 1/τ = dt·`tau_mem_inv` | none |
//! | `If` | `IAFCell` | none |
//!
//! Source: Norse 1.1.0, `norse.torch.module`.

use super::entry::Transform;
use super::network::{NetworkTensors, join, split};
use super::rules::Rules;
use super::value::{NeuronRules, flag};
use spikelet_nn::neuron::Neuron;

pub(super) const RULES: Rules = Rules {
    neuron,
    neuron_path: |_, path| path.to_string(),
    tensor,
    extras: |_, _, _| vec![],
};

fn neuron(neuron: &dyn Neuron) -> Option<NeuronRules> {
    let common = neuron.common();
    let is_plain = common.trainable.is_empty();
    match neuron.declaration().name {
        _ if !common.fires => None,
        "norse_lif" if is_plain => Some(NeuronRules::new("LIFCell")),
        "lif" if is_plain && flag(neuron, "decay_input") => Some(NeuronRules::new("LIFBoxCell").note(
            "construct it with tau_mem_inv = 1 / (dt tau); Norse fires above the threshold, not at it",
        )),
        "if" => Some(NeuronRules::new("IAFCell")),
        _ => None,
    }
}

fn tensor(network: &NetworkTensors, name: &str) -> Option<(String, Transform)> {
    let (path, last) = split(name);
    let (parent, part) = split(path);
    match (network.kind(parent), part, last) {
        ("NeuronLayer", "linear", "weight") => {
            Some((join(parent, "input_weights"), Transform::Same))
        }
        ("NeuronLayer", "feedback", "weight") => {
            Some((join(parent, "recurrent_weights"), Transform::Same))
        }
        ("Recurrent" | "Rnn" | "NeuronLayer", _, _) => None,
        _ => Some((name.to_string(), Transform::Same)),
    }
}
