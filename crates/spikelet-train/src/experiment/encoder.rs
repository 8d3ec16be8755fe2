//! The table `encoder`.

use super::Experiment;
use super::table::{Key, Table, refused};
use serde_json::{Map, Value, json};
use spikelet_core::document::{Fields, Located, Node};
use spikelet_nn::encoder::{self, ENCODERS};
use spikelet_schema::member_to_json;

pub(super) const TABLE: Table = Table {
    name: "encoder",
    summary: "How an image becomes a sequence.",
    keys: &[Key {
        name: "name",
        doc: "encoder; its constants follow as keys",
        schema: || {
            let names: Vec<&str> = ENCODERS.names().collect();
            json!({"enum": names})
        },
    }],
    constants: || {
        let all = ENCODERS.declarations().into_iter();
        let keys = all.flat_map(|encoder| encoder.all_fields());
        keys.map(|field| (field.key.to_string(), json!({})))
            .collect()
    },
    read,
    write,
};

fn read(experiment: &mut Experiment, node: &Node) -> Result<(), Located> {
    let settings = &mut experiment.settings;
    let (own, own_constants) = parts(&settings.encoder);
    let names: Vec<&str> = ENCODERS.names().collect();
    let name = match node.get("name") {
        Some(node) => node.choice("name", &names)?,
        None => own.as_str(),
    };
    let found = ENCODERS
        .named(name)
        .map_err(|error| refused(&error, node))?;
    let mut defaults = member_to_json(&*found);
    defaults.remove("name");
    let keys = defaults.keys().map(String::as_str);
    let keys: Vec<&str> = ["name"].into_iter().chain(keys).collect();
    let fields = Fields::new(node, format!("the encoder `{name}`"), &keys)?;
    let mut constants = match name == own {
        true => own_constants,
        false => defaults.clone(),
    };
    for key in defaults.keys() {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let value = node.to_json();
        let alone = Map::from_iter([(key.clone(), value.clone())]);
        let made = ENCODERS.with(&*found, &alone);
        made.map_err(|error| error.or_at(node.span.clone()))?;
        constants.insert(key.clone(), value);
    }
    // Constants with their default values are left out, so that equal encoders have one text.
    constants.retain(|key, value| defaults.get(key).is_none_or(|own| !equal(own, value)));
    let text: Vec<String> = (constants.iter())
        .map(|(key, value)| {
            format!(
                "{key}={}",
                value.as_str().map_or(value.to_string(), String::from)
            )
        })
        .collect();
    settings.encoder = match text.is_empty() {
        true => name.to_string(),
        false => format!("{name}:{}", text.join(",")),
    };
    let made = encoder::parse(&settings.encoder);
    made.map(|_| ()).map_err(|error| refused(&error, node))
}

/// Whether two constants are the same; 1 and 1.0 are.
fn equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// The name and all constants of an encoder.
fn parts(text: &str) -> (String, Map<String, Value>) {
    let made = encoder::parse(text).map(|encoder| encoder.spec());
    let mut constants = match made {
        Ok(Value::Object(spec)) => spec,
        _ => Map::new(),
    };
    let name = constants.remove("name");
    let name = name.as_ref().and_then(Value::as_str).unwrap_or(text);
    (name.to_string(), constants)
}

fn write(experiment: &Experiment) -> Vec<(String, Value)> {
    let (name, constants) = parts(&experiment.settings.encoder);
    let constants = constants.into_iter().filter(|(_, value)| !value.is_null());
    [("name".to_string(), Value::from(name))]
        .into_iter()
        .chain(constants)
        .collect()
}
