//! Neurons in networks that are lists of layers.

use super::problem::NetworkProblem;
use crate::neuron::{Neuron, from_spec, trainables};
use crate::{DefinitionError, surrogate};
use serde_json::{Map, Value, json};
use spikelet_core::document::{DocumentProblem, Fields, Located, Node, Span};
use std::sync::Arc;

/// The keys of a specification that are not constants of the neuron.
const BESIDE: [&str; 2] = ["surrogate", "reset_grad"];

/// The specification of a neuron: a name, a table with `name` and constants, or a table as
/// [`from_spec`] takes it. The string `"none"` is JSON's `null`, which TOML does not have.
pub(crate) fn neuron_spec(node: &Node) -> Result<Value, Located> {
    if let Some(name) = node.as_text() {
        return Ok(json!({"neuron": name}));
    }
    if node.get("neuron").is_some() {
        let keys = [&["neuron", "params"][..], &BESIDE].concat();
        Fields::new(node, "the neuron", &keys)?;
        return Ok(node.to_json());
    }
    let wrong = || {
        node.wrong(
            "neuron",
            "the name of a neuron, or a table with `name` and constants",
        )
    };
    let name = node.get("name").ok_or_else(wrong)?.text("name")?;
    let mut spec = Map::from_iter([("neuron".to_string(), Value::from(name))]);
    let mut constants = Map::new();
    for entry in node.entries().unwrap_or_default() {
        let value = match entry.value.as_text() {
            Some("none") => Value::Null,
            _ => entry.value.to_json(),
        };
        match entry.key.as_str() {
            "name" => {}
            key if BESIDE.contains(&key) => {
                spec.insert(key.to_string(), value);
            }
            key => {
                constants.insert(key.to_string(), value);
            }
        }
    }
    spec.insert("params".to_string(), Value::Object(constants));
    Ok(Value::Object(spec))
}

/// The table of a neuron in a file, which [`neuron_spec`] reads as this specification.
pub(super) fn neuron_table(spec: &Value) -> Value {
    let mut table = Map::from_iter([("name".to_string(), spec["neuron"].clone())]);
    let constants = spec["params"].as_object().into_iter().flatten();
    let beside = BESIDE.iter().filter_map(|key| Some((*key, spec.get(key)?)));
    for (key, value) in constants
        .map(|(key, value)| (key.as_str(), value))
        .chain(beside)
    {
        let value = match value {
            Value::Null => Value::from("none"),
            value => value.clone(),
        };
        table.insert(key.to_string(), value);
    }
    Value::Object(table)
}

/// The neuron of a specification. Constants that cannot be trainable are an error here already.
pub(crate) fn neuron_of(spec: &Value) -> Result<Arc<dyn Neuron>, DefinitionError> {
    let constants = &spec["params"];
    // The error of a wrong surrogate is typed only here.
    for surrogate in [spec.get("surrogate"), constants.get("surrogate")] {
        surrogate.map(surrogate::from_spec).transpose()?;
    }
    let neuron = from_spec(spec)?;
    trainables(&*neuron)?;
    Ok(neuron)
}

/// A wrong neuron with the position of the constant or the name that is wrong.
pub(crate) fn neuron_problem(error: DefinitionError, node: Option<&Node>) -> Located {
    let span = node.and_then(|node| definition_span(&error, node));
    let span = span.or_else(|| node.and_then(|node| node.span.clone()));
    NetworkProblem::Definition(error).at(span)
}

/// The position of the constant or the name that is wrong in a tree.
pub(super) fn definition_span(error: &DefinitionError, node: &Node) -> Option<Span> {
    match error {
        DefinitionError::UnknownName(error) => find_text(node, &error.given),
        DefinitionError::NotTrainable { constant, .. } => find_key(node, constant, false),
        DefinitionError::Bound { constant, .. }
        | DefinitionError::PerStepConstant { constant, .. } => find_key(node, constant, true),
        DefinitionError::Field { problem, .. } => match &**problem {
            DocumentProblem::UnknownKey { key, .. } => find_key(node, key, false),
            DocumentProblem::WrongValue { key, .. } | DocumentProblem::NotAChoice { key, .. } => {
                find_key(node, key, true)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The position of the first key of this name in a tree, or that of its value.
fn find_key(node: &Node, key: &str, value: bool) -> Option<Span> {
    let entries = node.entries()?;
    if let Some(entry) = entries.iter().find(|entry| entry.key == key) {
        return if value {
            entry.value.span.clone()
        } else {
            entry.span.clone()
        };
    }
    (entries.iter()).find_map(|entry| find_key(&entry.value, key, value))
}

/// The position of the first string with this text in a tree.
fn find_text(node: &Node, text: &str) -> Option<Span> {
    if node.as_text() == Some(text) {
        return node.span.clone();
    }
    let mut entries = node.entries()?.iter();
    entries.find_map(|entry| find_text(&entry.value, text))
}
