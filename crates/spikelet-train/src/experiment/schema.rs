//! The JSON schema of experiment files.

use super::optimizer::constant_schema;
use super::table::Table;
use super::tables::TABLES;
use serde_json::{Map, Value, json};
use spikelet_nn::network::{Model, Network, layer_kinds};

/// The schema of a file.
pub(super) fn schema() -> Value {
    let tables = TABLES
        .iter()
        .map(|table| (table.name.to_string(), of(table)));
    let network = ("network".to_string(), network());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Experiment of spikelet",
        "type": "object",
        "properties": Map::from_iter(tables.chain([network])),
        "required": ["network"],
        "additionalProperties": false,
    })
}

/// The schema of a table.
fn of(table: &Table) -> Value {
    let mut properties = Map::from_iter((table.constants)());
    for key in table.keys {
        let mut schema = (key.schema)();
        schema["description"] = json!(key.doc);
        properties.insert(key.name.to_string(), schema);
    }
    json!({
        "type": "object", "description": table.summary,
        "properties": properties, "additionalProperties": false,
    })
}

/// The schema of the table `network`.
fn network() -> Value {
    let layers = json!({"type": "array", "items": {"$ref": LAYER}});
    let mut properties = json!({
        "name": {"type": "string", "description": format!("its name; without `layers`, one of {}", Model::names().collect::<Vec<_>>().join(", "))},
        "source": {"type": "string", "description": "the publication or program that it is from"},
        "input": {
            "type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "maxItems": 4,
            "description": "sizes of an input at one time step, such as [1, 28, 28]",
        },
        "neuron": {"type": ["string", "object"], "description": "neuron of the layers \"neuron\": a name, or a table with `name` and constants"},
        "layers": layers,
    });
    for name in Model::names() {
        let settings = Network::find(name).map(|network| network.table());
        for (key, value) in settings.unwrap_or_default() {
            if properties.get(&key).is_none() {
                properties[key] = constant_schema(&value);
            }
        }
    }
    json!({
        "type": "object",
        "description": "A list of layers, or a named network with its settings.",
        "properties": properties, "additionalProperties": false,
        "$defs": {"layer": layer()},
    })
}

/// The place of the schema of a layer.
const LAYER: &str = "#/properties/network/$defs/layer";

/// The schema of a layer: a string, or a table with the key of a kind and the other keys of this kind.
fn layer() -> Value {
    let kinds = layer_kinds();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let mut properties = Map::from_iter([
        (
            "name".to_string(),
            json!({"type": "string", "description": "the layer's name"}),
        ),
        (
            "layer".to_string(),
            json!({"enum": names, "description": "a layer without a value"}),
        ),
    ]);
    for kind in &kinds {
        for key in kind.keys {
            properties.entry(key.name).or_insert(json!({}));
        }
        let description = match kind.main {
            None => kind.summary.to_string(),
            Some(value) => format!("{}; {}", kind.summary, value.doc),
        };
        properties.insert(kind.name.to_string(), json!({"description": description}));
    }
    let table = json!({"type": "object", "properties": properties, "additionalProperties": false});
    json!({"anyOf": [{"enum": names}, table]})
}
