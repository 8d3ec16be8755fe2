//! The list of penalties of the table `loss`.

use super::table::{number_in, refused};
use crate::Penalty;
use crate::penalty::PENALTIES;
use serde_json::{Map, Value, json};
use spikelet_core::document::{Fields, Located, Node};

const NAME: &str = "name";
const LAYERS: &str = "layers";
const WEIGHT: &str = "weight";

/// The keys of each penalty beside its constants.
const KEYS: [&str; 3] = [NAME, LAYERS, WEIGHT];

/// Reads the list, which is the value of `key`.
pub(super) fn read(node: &Node, key: &str) -> Result<Vec<Penalty>, Located> {
    node.list(key)?.iter().map(penalty).collect()
}

fn penalty(node: &Node) -> Result<Penalty, Located> {
    let names = PENALTIES.map(|(name, _)| name);
    let named = node.get(NAME).map(|node| node.choice(NAME, &names));
    let named = named.transpose()?;
    let constants = PENALTIES.into_iter().find(|(name, _)| named == Some(name));
    let (owner, constants) = match constants {
        Some((name, constants)) => (format!("the penalty `{name}`"), constants),
        None => ("a penalty".to_string(), &[][..]),
    };
    let keys = [&KEYS, constants].concat();
    let fields = Fields::new(node, owner, &keys)?;
    let name = fields.require(NAME, "a name, such as \"spike-count\"")?;
    let layers = fields.require(LAYERS, "a pattern of layers of neurons, such as \"lif*\"")?;
    let weight = fields.require(WEIGHT, "a number of at least 0, such as 1e-3")?;
    let weight = number_in(weight, WEIGHT, "a finite number of at least 0", |x| {
        x >= 0.0
    })?;
    let mut table = Map::from_iter([
        (NAME.to_string(), name.to_json()),
        (LAYERS.to_string(), json!(layers.text(LAYERS)?)),
        (WEIGHT.to_string(), json!(weight)),
    ]);
    for constant in constants {
        let number = fields.require(constant, "a number")?.number(constant)?;
        table.insert(constant.to_string(), json!(number));
    }
    let read = serde_json::from_value(Value::Object(table));
    let penalty: Penalty = read.map_err(|error| refused(&error, node))?;
    penalty.check().map_err(|error| refused(&error, node))?;
    Ok(penalty)
}

/// The penalties as they are read.
pub(super) fn write(penalties: &[Penalty]) -> Value {
    penalties.iter().map(|penalty| json!(penalty)).collect()
}

/// The schema of the list: a table for each name, with its constants.
pub(super) fn schema() -> Value {
    let tables = PENALTIES.map(|(name, constants)| {
        let mut properties = Map::from_iter([
            (NAME.to_string(), json!({"const": name})),
            (LAYERS.to_string(), json!({"type": "string"})),
            (WEIGHT.to_string(), json!({"type": "number", "minimum": 0})),
        ]);
        let constants = constants.iter();
        properties.extend(constants.map(|key| (key.to_string(), json!({"type": "number"}))));
        let required: Vec<&String> = properties.keys().collect();
        let required = json!(required);
        json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        })
    });
    json!({"type": "array", "items": {"anyOf": tables}})
}
