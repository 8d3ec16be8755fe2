//! The kinds of layers, neurons and other parts that have names.

use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use spikelet::network::{LayerKey, LayerKind, Model, layer_kinds};
use spikelet::neuron::{self, Neuron, common_fields};
use spikelet::{Entry, Field, encoder, surrogate};

/// The word for a type of Rust, as the keys of layers have it; a constant without one has that of its default.
fn word(field: Option<&Field>, default: &Value) -> &'static str {
    let ty = field.map_or("", |field| &field.ty);
    let inner = ty
        .strip_prefix("Option<")
        .and_then(|ty| ty.strip_suffix('>'));
    match (inner.unwrap_or(ty), default) {
        ("bool", _) | ("", Value::Bool(_)) => "flag",
        ("usize" | "u32" | "u64", _) => "integer",
        ("f64", _) | ("", Value::Number(_) | Value::Null) => "number",
        ("Arc<dyn Surrogate>", _) => "surrogate",
        ("BTreeMap<String, Trainable>", _) => "trainable",
        (_, Value::Array(_)) => "numbers",
        (_, Value::Object(_)) => "table",
        _ => "text",
    }
}

/// A constant as an argument. The default of a table, a list or a part is written as null: the native part knows it.
fn field(name: &str, default: &Value, doc: Option<&Field>) -> Value {
    let ty = word(doc, default);
    let default = match default {
        Value::Array(_) | Value::Object(_) => &Value::Null,
        default => default,
    };
    let optional = default.is_null() || doc.is_some_and(|field| field.ty.starts_with("Option<"));
    let doc = doc.map_or("", |field| &field.doc);
    json!({"name": name, "type": ty, "optional": optional, "default": default, "doc": doc})
}

/// A member of a family, with the constants in the order of their documentation.
fn member<T: ?Sized>(entry: &Entry<T>, common: &[Field]) -> Value {
    let defaults = (entry.defaults)();
    let documented = entry.fields();
    let is_common = |name: &str| common.iter().any(|field| field.name == name);
    let own = documented.iter().filter(|field| !is_common(&field.name));
    let mut fields: Vec<Value> = own
        .filter_map(|doc| Some(field(&doc.name, defaults.get(&doc.name)?, Some(doc))))
        .collect();
    let known = |name: &str| documented.iter().any(|field| field.name == name);
    let rest = (defaults.iter()).filter(|(name, _)| !known(name) && !is_common(name));
    fields.extend(rest.map(|(name, default)| field(name, default, None)));
    fields.extend(common.iter().filter_map(|shared| {
        let mut doc = shared.clone();
        let here = documented.iter().find(|field| field.name == shared.name);
        if let Some(here) = here.filter(|here| !here.doc.is_empty()) {
            doc.doc.clone_from(&here.doc);
        }
        Some(field(&shared.name, defaults.get(&shared.name)?, Some(&doc)))
    }));
    let tables = |text: String| -> String {
        let rows = |line: &&str| !line.starts_with('|');
        text.lines().filter(rows).collect::<Vec<_>>().join("\n")
    };
    json!({
        "name": entry.name,
        "class": entry.type_name,
        "summary": entry.summary,
        "head": entry.head(),
        "doc": tables(entry.description()),
        "fields": fields,
        "surrogate": defaults.get("surrogate"),
    })
}

fn members<T: ?Sized>(entries: &[Entry<T>]) -> Value {
    entries.iter().map(|entry| member(entry, &[])).collect()
}

/// A neuron, with the names of its states and parameters.
fn neuron_member(entry: &Entry<dyn Neuron>, common: &[Field]) -> Value {
    let made = (entry.build)(&Map::new());
    let states = made.iter().flat_map(|neuron| neuron.states());
    let params = made.iter().flat_map(|neuron| neuron.params());
    let mut found = member(entry, common);
    found["states"] = states.map(|state| state.name).collect();
    found["params"] = params.map(|param| param.name).collect();
    found
}

/// A kind of layers: its value and its keys are fields, of which those without a default must be given.
fn layer(kind: &LayerKind) -> Value {
    let key = |key: &LayerKey| {
        let default = key.default.and_then(|text| serde_json::from_str(text).ok());
        let mut found = json!({"name": key.name, "type": key.ty, "doc": key.doc});
        if let Some(default) = default {
            found["default"] = default;
        }
        found
    };
    json!({
        "name": kind.name,
        "classes": kind.types,
        "summary": kind.summary,
        "main": kind.main.as_ref().map(key),
        "keys": kind.keys.iter().map(key).collect::<Vec<_>>(),
    })
}

/// Everything that has a name, as JSON text: an object of lists.
#[pyfunction]
pub(super) fn registry() -> String {
    let common = common_fields();
    let neurons = neuron::entries();
    let data: Vec<Value> = (spikelet::data::entries().iter())
        .map(|entry| json!({"name": entry.name, "summary": entry.summary}))
        .collect();
    json!({
        "layers": layer_kinds().iter().map(layer).collect::<Value>(),
        "neurons": neurons.iter().map(|entry| neuron_member(entry, &common)).collect::<Value>(),
        "surrogates": members(&surrogate::entries()),
        "encoders": members(&encoder::entries()),
        "networks": Model::names().collect::<Vec<_>>(),
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
