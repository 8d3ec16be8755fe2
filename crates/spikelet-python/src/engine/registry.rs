//! The kinds of layers, neurons and other parts that have names.

use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use spikelet::network::{Model, Network, layer_kinds};
use spikelet::neuron::{self, Neuron};
use spikelet::{Entry, encoder, surrogate};

fn member<T: ?Sized>(entry: &Entry<T>) -> Value {
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "constants": (entry.defaults)(),
        "head": entry.head(),
        "description": entry.description(),
    })
}

fn members<T: ?Sized>(entries: &[Entry<T>]) -> Value {
    entries.iter().map(member).collect()
}

/// A neuron, with the names of its states and parameters.
fn neuron_member(entry: &Entry<dyn Neuron>) -> Value {
    let made = (entry.build)(&Map::new());
    let states = made.iter().flat_map(|neuron| neuron.states());
    let params = made.iter().flat_map(|neuron| neuron.params());
    let mut found = member(entry);
    found["states"] = states.map(|state| state.name).collect();
    found["params"] = params.map(|param| param.name).collect();
    found
}

/// Everything that has a name, as JSON text: an object of lists.
#[pyfunction]
pub(super) fn registry() -> String {
    let kinds: Vec<Value> = (layer_kinds().iter())
        .map(|kind| {
            json!({"name": kind.name, "value": kind.value, "keys": kind.keys, "summary": kind.summary})
        })
        .collect();
    let data: Vec<Value> = (spikelet::data::entries().iter())
        .map(|entry| json!({"name": entry.name, "summary": entry.summary}))
        .collect();
    json!({
        "layers": kinds,
        "neurons": neuron::entries().iter().map(neuron_member).collect::<Value>(),
        "surrogates": members(&surrogate::entries()),
        "encoders": members(&encoder::entries()),
        "networks": Network::all_names().collect::<Vec<_>>(),
        "data": data,
    })
    .to_string()
}

/// The options of a model of the literature, as JSON text: a list of name, meaning and value.
#[pyfunction]
pub(super) fn model_info(name: &str) -> PyResult<String> {
    let model = Model::find(name).map_err(super::error::raise)?;
    let options: Vec<Value> = (model.options().into_iter())
        .map(|(key, meaning, value)| json!({"name": key, "meaning": meaning, "value": value}))
        .collect();
    Ok(json!({
        "name": model.name(),
        "summary": model.summary(),
        "source": model.source(),
        "time_steps": model.time_steps(),
        "options": options,
    })
    .to_string())
}
