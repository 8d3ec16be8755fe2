//! The kinds of layers, neurons and other parts that have names.

use pyo3::prelude::*;
use serde_json::{Value, json};
use spikelet::encoder::ENCODERS;
use spikelet::network::{LayerKind, Model, layer_kinds};
use spikelet::neuron::{Common, NEURONS, Neuron};
use spikelet::schema::{
    Alias, Family, Field, Kind, Registry, Schema, markdown, member_to_json, to_json,
};
use spikelet::surrogate::SURROGATES;

/// The word for the type of an argument.
fn word(kind: &Kind) -> String {
    let text = match kind {
        Kind::Flag => "flag",
        Kind::Integer => "integer",
        Kind::Number => "number",
        Kind::Optional(kind) => return word(kind),
        Kind::Member { family, .. } if ["surrogate", "neuron", "layer"].contains(family) => family,
        Kind::List(of, _) => match &word(of)[..] {
            "layer" => "layers",
            "text" => "texts",
            _ => "numbers",
        },
        Kind::Other(_, schema) => return word_of(&schema()["type"]),
        Kind::Table(_) | Kind::Member { .. } => "table",
        _ => "text",
    };
    text.to_string()
}

/// The word for the types of a JSON schema: a table, a text, or a size for all axes or for each.
fn word_of(types: &Value) -> String {
    match types.as_array().map(|types| &types[..]) {
        Some([integer, _]) if integer == "integer" => "sizes".to_string(),
        Some(types) => types.iter().map(word_of).collect::<Vec<_>>().join(" or "),
        None if types == "string" => "text".to_string(),
        None => "table".to_string(),
    }
}

/// A constant as an argument. The default of a table, a list or a part is written as null: the native part knows it.
fn argument(field: &Field, default: &Value) -> Value {
    let kind = (field.kind)();
    let ty = match field.key {
        "trainable" => "trainable".to_string(),
        _ => word(&kind),
    };
    let default = match default {
        Value::Array(_) | Value::Object(_) => &Value::Null,
        default => default,
    };
    let optional = default.is_null() || matches!(kind, Kind::Optional(_));
    let meaning = markdown::meaning(field);
    let doc = match field.domain {
        Some(_) => format!(
            "{}; {}.",
            meaning.trim_end_matches('.'),
            markdown::values(field)
        ),
        None => meaning,
    };
    json!({"name": field.key, "type": ty, "optional": optional, "default": default, "doc": doc})
}

/// The name of the class of another name: `SoftPulseLif` for `soft_pulse_lif`.
fn class_of(name: &str) -> String {
    let parts = name.split('_').map(|part| {
        let (first, rest) = part.split_at(part.len().min(1));
        first.to_uppercase() + rest
    });
    parts.collect()
}

/// A member of a family, with its own constants before those of all neurons.
fn member<T: Family + ?Sized>(name: &str, made: &T, alias: Option<&Alias>) -> Value {
    let declaration = made.record().declaration();
    let defaults = member_to_json(made);
    let fields = declaration.all_fields();
    let common = Common::DECLARATION.all_fields();
    let is_common = |field: &&&Field| common.iter().any(|common| common.key == field.key);
    let own = fields.iter().filter(|field| !is_common(field));
    let ordered = own.chain(fields.iter().filter(is_common));
    let arguments = ordered.filter_map(|field| Some(argument(field, defaults.get(field.key)?)));
    let prose = declaration
        .doc
        .lines()
        .filter(|line| !line.starts_with('|'));
    let doc = prose.collect::<Vec<_>>().join("\n");
    json!({
        "name": name,
        "of": alias.map(|alias| alias.of),
        "class": alias.map_or(declaration.type_name.to_string(), |_| class_of(name)),
        "summary": alias.map_or(declaration.summary().to_string(), Alias::summary),
        "doc": alias.map_or(doc.clone(), |alias| format!("{}.\n\n{doc}", alias.summary())),
        "fields": arguments.collect::<Value>(),
        "surrogate": defaults.get("surrogate"),
    })
}

/// The members of a family, and the names of settings (with the name of the member, `of`), each with what a function adds.
fn members<T: Family + ?Sized>(
    registry: &'static Registry<T>,
    add: impl Fn(&T, &mut Value),
) -> Value {
    let own = registry.names().map(|name| (name, None));
    let others = registry
        .named_settings()
        .map(|alias| (alias.name, Some(alias)));
    let each = own.chain(others).filter_map(|(name, alias)| {
        let made = registry.named(name).ok()?;
        let mut found = member(name, &*made, alias);
        add(&made, &mut found);
        Some(found)
    });
    each.collect()
}

/// Adds the names of the states and parameters of a neuron.
fn add_states(neuron: &(dyn Neuron + 'static), found: &mut Value) {
    let (states, params) = (neuron.states(), neuron.params());
    found["states"] = states.iter().map(|state| state.name).collect();
    found["params"] = params.iter().map(|param| param.name).collect();
}

/// A kind of layers: its value and its keys are fields, of which those without a default must be given.
fn layer(kind: &LayerKind) -> Value {
    let defaults = to_json(&*(kind.declaration.default)());
    let field = |field: &Field| {
        let mut found =
            json!({"name": field.key, "type": word(&(field.kind)()), "doc": field.summary()});
        if !field.required {
            found["default"] = defaults[field.key].clone();
        }
        found
    };
    json!({
        "name": kind.name(),
        "classes": kind.types,
        "summary": kind.declaration.summary(),
        "main": kind.declaration.main().map(field),
        "keys": kind.keys().into_iter().map(field).collect::<Vec<_>>(),
    })
}

/// Everything that has a name, as JSON text: an object of lists.
#[pyfunction]
pub(super) fn registry() -> String {
    let data: Vec<Value> = spikelet::data::named_datasets()
        .map(|dataset| json!({"name": dataset.name(), "summary": dataset.summary()}))
        .collect();
    json!({
        "layers": layer_kinds().iter().map(layer).collect::<Value>(),
        "neurons": members(&NEURONS, add_states),
        "surrogates": members(&SURROGATES, |_, _| {}),
        "encoders": members(&ENCODERS, |_, _| {}),
        "networks": Model::names().collect::<Vec<_>>(),
        "data": data,
    })
    .to_string()
}

/// A member of a family by its name and fields, such as `latency code=log`, as JSON text.
#[pyfunction]
pub(super) fn words_item(text: &str) -> PyResult<String> {
    let item = spikelet::schema::words::item(text);
    let item = item.map_err(|error| super::error::raise(error.without_text(text)))?;
    Ok(item.to_json().to_string())
}

/// The options of a model of the literature, as JSON text: a list of name, meaning and value.
#[pyfunction]
pub(super) fn model_info(name: &str) -> PyResult<String> {
    let model = Model::find(name).map_err(super::error::raise)?;
    let options: Vec<Value> = (model.options().into_iter())
        .map(|option| json!({"name": option.key, "meaning": option.field.summary(), "value": option.value}))
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
