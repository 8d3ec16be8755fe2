//! The table `optimizer`.

use super::Experiment;
use super::table::{Key, NONE, Table, number_in, refused, unless, value_or};
use crate::ParameterGroup;
use crate::optim::{Clip, OptimizerConfig};
use serde_json::{Map, Value, json};
use spikelet_core::document::{Fields, Located, Node};

pub(super) const TABLE: Table = Table {
    name: "optimizer",
    summary: "How parameters are updated. The constants of the optimizer are keys too.",
    keys: &[
        Key {
            name: "name",
            doc: "optimizer",
            schema: || json!({"enum": OptimizerConfig::aliases()}),
        },
        Key {
            name: "lr",
            doc: "learning rate before the schedule",
            schema: || json!({"type": "number", "minimum": 0}),
        },
        Key {
            name: "bias_decay",
            doc: "weight decay of biases, normalization and constants of neurons too",
            schema: || json!({"type": "boolean"}),
        },
        Key {
            name: "layer_decay",
            doc: "factor of the learning rate from each layer to the one before it, or \"none\"",
            schema: || json!({"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"const": NONE}]}),
        },
        Key {
            name: "clip_norm",
            doc: "largest norm of all gradients together, or \"none\"",
            schema: positive_or_none,
        },
        Key {
            name: "clip_value",
            doc: "largest absolute value of a gradient, or \"none\"",
            schema: positive_or_none,
        },
        Key {
            name: "groups",
            doc: "parameters with values of their own: [{ parameters = \"*.bias\", lr = 1e-4 }]",
            schema: groups_schema,
        },
    ],
    constants: || {
        let all = OptimizerConfig::NAMES.iter();
        let all = all.filter_map(|name| OptimizerConfig::find(name).ok());
        let constants = all.flat_map(|optimizer| optimizer.constants());
        constants
            .map(|(key, value)| (key, constant_schema(&value)))
            .collect()
    },
    read,
    write,
};

const CLIP_NORM: &str = "clip_norm";
const CLIP_VALUE: &str = "clip_value";

/// The keys of gradient clipping.
const CLIPS: [&str; 2] = [CLIP_NORM, CLIP_VALUE];

/// The type of a constant with this value.
pub(super) fn constant_schema(value: &Value) -> Value {
    match value {
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(_) => json!({"type": "number"}),
        Value::String(_) => json!({"type": "string"}),
        _ => json!({}),
    }
}

fn positive_or_none() -> Value {
    json!({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": NONE}]})
}

fn groups_schema() -> Value {
    json!({"type": "array", "items": {
        "type": "object", "required": ["parameters"],
        "properties": {
            "parameters": {"type": "string"}, "name": {"enum": OptimizerConfig::aliases()},
            "lr": {"type": "number", "minimum": 0}, "frozen": {"type": "boolean"},
        },
    }})
}

fn read(experiment: &mut Experiment, node: &Node) -> Result<(), Located> {
    let settings = &mut experiment.settings;
    let own = settings.optimizer;
    let start = started(node, own)?;
    let constants = start.constants();
    let known = constants.keys().map(String::as_str);
    let keys: Vec<&str> = TABLE.key_names().into_iter().chain(known).collect();
    let owner = format!("the optimizer `{}`", start.alias());
    let fields = Fields::new(node, owner, &keys)?;
    settings.optimizer = with_constants(start, &fields, constants.keys())?;
    if let Some(rate) = learning_rate(&fields)? {
        settings.learning_rate = rate;
    }
    if let Some(yes) = fields.flag("bias_decay")? {
        settings.bias_decay = yes;
    }
    if let Some(node) = fields.get("layer_decay") {
        let expected = "a number above 0 and at most 1, or \"none\"";
        let fits = |factor: f64| factor > 0.0 && factor <= 1.0;
        let read = |node: &Node| number_in(node, "layer_decay", expected, fits);
        settings.layer_decay = unless(NONE, node, read)?;
    }
    for key in CLIPS {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let expected = "a number above 0, or \"none\"";
        let read = |node: &Node| number_in(node, key, expected, |x| x > 0.0);
        let Some(most) = unless(NONE, node, read)? else {
            // The other kind stays.
            settings.clip = settings.clip.filter(|own| clip_key(own) != key);
            continue;
        };
        settings.clip = Some(match key {
            CLIP_NORM => Clip::Norm(most),
            _ => Clip::Value(most),
        });
    }
    if let [Some(norm), Some(value)] = CLIPS.map(|key| fields.get(key))
        && [norm, value]
            .iter()
            .all(|node| node.as_text() != Some(NONE))
    {
        return Err(value.wrong("clip_value", "\"none\" where `clip_norm` is set"));
    }
    if let Some(node) = fields.get("groups") {
        let list = node.list("groups")?.iter();
        settings.groups = list
            .map(|item| group(item, settings.optimizer))
            .collect::<Result<_, _>>()?;
    }
    Ok(())
}

/// The optimizer that a table names, with its defaults; the present one if it names none or the same.
fn started(table: &Node, own: OptimizerConfig) -> Result<OptimizerConfig, Located> {
    let Some(node) = table.get("name") else {
        return Ok(own);
    };
    let name = node.choice("name", &OptimizerConfig::aliases())?;
    match name == own.alias() {
        true => Ok(own),
        false => OptimizerConfig::find(name).map_err(|error| refused(&error, node)),
    }
}

/// The optimizer with the constants of a table.
fn with_constants<'a>(
    mut optimizer: OptimizerConfig,
    fields: &Fields<'_>,
    keys: impl Iterator<Item = &'a String>,
) -> Result<OptimizerConfig, Located> {
    for key in keys {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let one = Map::from_iter([(key.clone(), node.to_json())]);
        optimizer = optimizer
            .with(&one)
            .map_err(|error| refused(&error, node))?;
    }
    Ok(optimizer)
}

fn learning_rate(fields: &Fields<'_>) -> Result<Option<f64>, Located> {
    let read = |node| number_in(node, "lr", "a number of at least 0", |rate| rate >= 0.0);
    fields.get("lr").map(read).transpose()
}

fn group(node: &Node, main: OptimizerConfig) -> Result<ParameterGroup, Located> {
    let start = started(node, main)?;
    let constants = start.constants();
    let known = constants.keys().map(String::as_str);
    let own = ["parameters", "name", "lr", "frozen"];
    let keys: Vec<&str> = own.into_iter().chain(known).collect();
    let fields = Fields::new(node, "a group of parameters", &keys)?;
    let pattern = fields.require("parameters", "a pattern of names, such as \"*.bias\"")?;
    with_constants(start, &fields, constants.keys())?;
    let given = constants
        .keys()
        .filter_map(|key| Some((key.clone(), fields.get(key)?.to_json())));
    Ok(ParameterGroup {
        parameters: pattern.text("parameters")?.to_string(),
        optimizer: fields.text("name")?.map(String::from),
        constants: given.collect(),
        learning_rate: learning_rate(&fields)?,
        frozen: fields.flag("frozen")?.unwrap_or(false),
    })
}

/// The key of a kind of clipping.
fn clip_key(clip: &Clip) -> &'static str {
    match clip {
        Clip::Norm(_) => CLIP_NORM,
        Clip::Value(_) => CLIP_VALUE,
    }
}

fn write(experiment: &Experiment) -> Vec<(String, Value)> {
    let settings = &experiment.settings;
    let clip = |key: &str| {
        let own = settings.clip.filter(|clip| clip_key(clip) == key);
        value_or(
            NONE,
            own.map(|clip| match clip {
                Clip::Norm(most) | Clip::Value(most) => most,
            }),
        )
    };
    let mut keys = vec![
        ("name".to_string(), json!(settings.optimizer.alias())),
        ("lr".to_string(), json!(settings.learning_rate)),
    ];
    keys.extend(settings.optimizer.constants());
    keys.push(("bias_decay".to_string(), json!(settings.bias_decay)));
    keys.push((
        "layer_decay".to_string(),
        value_or(NONE, settings.layer_decay),
    ));
    keys.extend(CLIPS.map(|key| (key.to_string(), clip(key))));
    keys.push((
        "groups".to_string(),
        settings.groups.iter().map(group_table).collect(),
    ));
    keys
}

fn group_table(group: &ParameterGroup) -> Value {
    let mut table = Map::from_iter([("parameters".to_string(), json!(group.parameters))]);
    let mut put = |key: &str, value: Option<Value>| {
        table.extend(value.map(|value| (key.to_string(), value)));
    };
    put("name", group.optimizer.as_deref().map(Value::from));
    put("lr", group.learning_rate.map(Value::from));
    put("frozen", group.frozen.then_some(Value::Bool(true)));
    table.extend(group.constants.clone());
    Value::Object(table)
}
