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
use super::value::{Formula, NeuronRules, Relation};
use spikelet_nn::neuron::{AdLifCell, LeakyIntegrator, SparchLif};
use std::any::Any;

pub(super) const RULES: Rules = Rules {
    neuron,
    neuron_path: |network, path| layer(network, split(path).0),
    tensor,
    extras: |_, _, _| vec![],
};

fn neuron(neuron: &dyn Any) -> Option<NeuronRules> {
    let trained = |class: &'static str,
                   common: &spikelet_nn::neuron::Common,
                   names: &[(&'static str, f64)]| {
        names
            .iter()
            .fold(NeuronRules::new(class), |rules, &(name, value)| {
                rules.stored(
                    name,
                    name,
                    value,
                    Relation::new(Formula::Same, common, name),
                )
            })
    };
    if let Some(cell) = neuron.downcast_ref::<SparchLif>() {
        return Some(trained("LIFLayer", &cell.common, &[("alpha", cell.alpha)]));
    }
    if let Some(cell) = neuron.downcast_ref::<AdLifCell>() {
        let values = [
            ("alpha", cell.alpha),
            ("beta", cell.beta),
            ("a", cell.a),
            ("b", cell.b),
        ];
        return Some(trained("adLIFLayer", &cell.common, &values));
    }
    let cell = neuron.downcast_ref::<LeakyIntegrator>()?;
    Some(trained(
        "ReadoutLayer",
        &cell.common,
        &[("alpha", cell.alpha)],
    ))
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
