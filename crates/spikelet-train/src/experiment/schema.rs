//! The JSON schema of experiment files.

use super::data::dataset_names;
use super::{Experiment, NETWORK, TABLES};
use serde_json::{Value, json};
use spikelet_nn::network::{LayerKind, Layers, Model, layer_kinds};
use spikelet_schema::{Field, Kind, Schema, json_schema};
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
        "version": {
            "type": "integer", "minimum": 1, "maximum": Layers::VERSION,
            "description": "version of the list of layers; without it 1, in which linear layers and convolutions have no bias by default",
        },
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

/// The schema of a layer: a string, or a table with the keys of its kind.
fn layer() -> Value {
    let names: Vec<&str> = layer_kinds().iter().map(LayerKind::name).collect();
    let word = json!({"enum": names});
    let forms: Value = [word]
        .into_iter()
        .chain(layer_kinds().iter().map(table_of))
        .collect();
    json!({"anyOf": forms})
}

/// The schema of a layer of this kind: `{ KIND = value, … }`, or `{ layer = "KIND", … }` without a value.
fn table_of(kind: &LayerKind) -> Value {
    let (name, main) = (kind.name(), kind.declaration.main());
    let mut properties = json!({
        "version": {
            "type": "integer", "minimum": 1, "maximum": Layers::VERSION,
            "description": "version of the list of layers; without it 1, in which linear layers and convolutions have no bias by default",
        },
        "name": {"type": "string", "description": "the layer's name"},
        "layer": {"const": name, "description": "a layer without a value"},
    });
    for field in kind.keys() {
        properties[field.key] = key(field);
    }
    if let Some(main) = main {
        properties[name] = key(main);
    }
    let keys = kind.keys().into_iter().filter(|field| field.required);
    let required: Vec<&str> = keys.map(|field| field.key).collect();
    let mut table = json!({
        "type": "object",
        "description": kind.declaration.summary(),
        "properties": properties, "required": required, "additionalProperties": false,
    });
    table["anyOf"] = match main.is_some_and(|main| main.required) {
        true => json!([{"required": [name]}]),
        false => json!([{"required": [name]}, {"required": ["layer"]}]),
    };
    table
}

/// The schema of a key of a layer, which may be layers.
fn key(field: &Field) -> Value {
    let is_layer = |kind: &Kind| matches!(kind, Kind::Member { family, .. } if *family == "layer");
    let layer = json!({"$ref": LAYER});
    let list = json!({"type": "array", "items": layer});
    let either = match (field.kind)() {
        Kind::List(of, _) if is_layer(&of) => {
            let lists = json!({"type": "array", "items": {"anyOf": [layer, list]}});
            json!([lists, layer])
        }
        kind if is_layer(&kind) => json!([layer, list]),
        _ => return field.json_schema(),
    };
    json!({"anyOf": either, "description": field.summary()})
}
