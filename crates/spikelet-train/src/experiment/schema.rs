//! The JSON schema of experiment files.

use super::data::dataset_names;
use super::{Experiment, NETWORK, TABLES};
use serde_json::{Map, Value, json};
use spikelet_nn::network::{LayerKind, Model, layer_kinds};
use spikelet_schema::{Schema, json_schema};
use std::collections::BTreeMap;

/// The schema of a file.
pub(super) fn schema() -> Value {
    let mut schema = json_schema(Experiment::DECLARATION);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Experiment of spikelet");
    schema["required"] = json!([NETWORK]);
    let tables = &mut schema["properties"];
    tables[NETWORK] = network();
    for (table, summary) in TABLES {
        tables[table]["description"] = json!(summary);
    }
    tables["data"]["properties"]["dataset"]["enum"] =
        json!([&dataset_names()[..], &["auto"]].concat());
    schema
}

/// The schemas of the options of all models. An option has one schema for each of its meanings.
fn options() -> BTreeMap<String, Vec<Value>> {
    let mut all = BTreeMap::<String, Vec<Value>>::new();
    let models = Model::names().filter_map(|name| Model::find(name).ok());
    for option in models.flat_map(|model| model.options()) {
        let known = all.entry(option.key).or_default();
        let schema = option.field.json_schema();
        if !known.contains(&schema) {
            known.push(schema);
        }
    }
    all
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
    for (key, schemas) in options() {
        if properties.get(&key).is_none() {
            properties[key] = match &schemas[..] {
                [only] => only.clone(),
                any => json!({"anyOf": any}),
            };
        }
    }
    json!({
        "type": "object",
        "properties": properties, "additionalProperties": false,
        "$defs": {"layer": layer()},
    })
}

/// The place of the schema of a layer.
const LAYER: &str = "#/properties/network/$defs/layer";

/// The schema of a layer: a string, or a table with the key of a kind and the other keys of this kind.
fn layer() -> Value {
    let kinds = layer_kinds();
    let names: Vec<&str> = kinds.iter().map(LayerKind::name).collect();
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
    for kind in kinds {
        for key in kind.keys() {
            properties.entry(key.key).or_insert(json!({}));
        }
        let summary = kind.declaration.summary();
        let description = match kind.declaration.main() {
            None => summary.to_string(),
            Some(value) => format!("{summary}; {}", value.phrase()),
        };
        properties.insert(kind.name().to_string(), json!({"description": description}));
    }
    let table = json!({"type": "object", "properties": properties, "additionalProperties": false});
    json!({"anyOf": [{"enum": names}, table]})
}
