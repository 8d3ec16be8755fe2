//! sparch: layers are counted in a list `snn`.
//!
//! | layer | there | entries |
//! |---|---|---|
//! | `RLif`, without feedback too | `RLIFLayer`, `LIFLayer` | `W.weight`, `V.weight` (a row for each neuron that sends), `norm.…`, `alpha` |
//! | `AdLif`, `RadLif` | `adLIFLayer`, `RadLIFLayer` | and `beta`, `a`, `b` |
//! | `SparchReadout` | `ReadoutLayer` | `W.weight`, `norm.…`, `alpha` |
//!
//! Source: Bittar & Garner, Frontiers in Neuroscience 16:865897, 2022; the state dicts of idiap/sparch.

use super::entry::Transform;
use super::network::{NetworkTensors, join, split};
use super::rules::Rules;
use super::value::NeuronRules;
use spikelet_nn::neuron::Neuron;

pub(super) const RULES: Rules = Rules {
    neuron,
    neuron_path: |network, path| layer(network, split(path).0),
    tensor,
    extras: |_, _, _| vec![],
};

fn neuron(neuron: &dyn Neuron) -> Option<NeuronRules> {
    let (class, constants): (_, &[_]) = match neuron.declaration().name {
        "sparch_lif" => ("LIFLayer", &["alpha"]),
        "adlif_cell" => ("adLIFLayer", &["alpha", "beta", "a", "b"]),
        "leaky_integrator" => ("ReadoutLayer", &["alpha"]),
        _ => return None,
    };
    NeuronRules::new(class).same(neuron, constants)
}

/// The path of the layer at a path of the network: its position among layers of neurons.
fn layer(network: &NetworkTensors, path: &str) -> String {
    let layers = network.neurons.iter().map(|neuron| split(&neuron.path).0);
    let position = layers.into_iter().position(|known| known == path);
    position.map_or_else(|| path.to_string(), |position| format!("snn.{position}"))
}

fn tensor(network: &NetworkTensors, name: &str) -> Option<(String, Transform)> {
    let (path, last) = split(name);
    let (parent, part) = split(path);
    if network.kind(parent) != "NeuronLayer" {
        return None;
    }
    let own = layer(network, parent);
    match (part, last) {
        ("linear", _) => Some((join(&own, &format!("W.{last}")), Transform::Same)),
        ("norm", _) => Some((join(&own, &format!("norm.{last}")), Transform::Same)),
        ("feedback", "weight") => Some((join(&own, "V.weight"), Transform::Transposed)),
        _ => None,
    }
}
