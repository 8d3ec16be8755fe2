//! Constants by name, of optimizers and schedules.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use spikelet_core::{Error, Result};
use spikelet_nn::domain;

/// The key of the name in a specification.
const NAME: &str = "name";

/// Name and constants of a value, as files hold them.
fn specification(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(specification)) => specification,
        _ => Map::new(),
    }
}

/// The constants by name.
pub(super) fn constants(of: &impl Serialize) -> Map<String, Value> {
    let mut constants = specification(of);
    constants.remove(NAME);
    constants
}

/// A copy of `of`, the optimizer or schedule (`kind`) `name`, with other values of some constants. Their domains are
/// not checked.
pub(super) fn with_constants<T: Serialize + DeserializeOwned>(
    of: &T,
    kind: &str,
    name: &str,
    changed: &Map<String, Value>,
) -> Result<T> {
    let mut all = specification(of);
    for (key, value) in changed {
        if key == NAME || !all.contains_key(key) {
            let known: Vec<String> = constants(of).keys().cloned().collect();
            let help = match known.is_empty() {
                true => "it has no constants".to_string(),
                false => format!("its constants: {}", known.join(", ")),
            };
            let problem = format!("`{name}` has no constant `{key}`");
            return Err(Error::invalid(kind, problem, help));
        }
        all.insert(key.clone(), value.clone());
    }
    serde_json::from_value(Value::Object(all)).map_err(|error| {
        let problem = format!("constants of `{name}`: {error}");
        Error::invalid(kind, problem, domain::HELP)
    })
}
