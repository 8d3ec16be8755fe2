//! Constants on the command line and in tables.

use serde_json::{Map, Value};
use spikelet::train::experiment::Experiment;

/// `KEY=VALUE` of `--set`.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The constant's name, or a key of an experiment file.
    pub key: String,
    /// A number, `true`, `false`, `null`, or a word.
    pub value: Value,
    /// The setting as given.
    pub text: String,
}

impl Setting {
    /// Whether the key is that of a table of experiment files, such as `optimizer.lr`.
    pub fn is_of_experiment(&self) -> bool {
        let table = self.key.split_once('.').map(|(table, _)| table);
        table.is_some_and(|table| Experiment::tables().contains(&table))
    }
}

impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text
            .split_once('=')
            .ok_or("write KEY=VALUE, such as tau=100 or v_reset=null")?;
        Ok(Self {
            key: key.trim().to_string(),
            text: text.to_string(),
            value: serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)),
        })
    }
}

/// A constant as it is typed: `2` for 2.0, `sigmoid(alpha=4)` for a surrogate.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        Value::Number(number) => number
            .as_f64()
            .map_or_else(|| number.to_string(), |x| x.to_string()),
        Value::Object(map) => {
            let name = map.get("name").map(text).unwrap_or_default();
            let constants: Map<String, Value> = map
                .iter()
                .filter(|(k, _)| *k != "name")
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            if constants.is_empty() {
                name
            } else {
                format!("{name}({})", list(&constants))
            }
        }
        other => other.to_string(),
    }
}

/// Constants in a row: `alpha=2, beta=1`.
pub fn list(constants: &Map<String, Value>) -> String {
    let each = constants
        .iter()
        .map(|(key, value)| format!("{key}={}", text(value)));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_is_a_number_a_boolean_null_or_a_word() {
        let value = |text: &str| text.parse::<Setting>().map(|s| s.value);
        assert_eq!(value("tau=100"), Ok(json!(100)));
        assert_eq!(value("v_reset=null"), Ok(Value::Null));
        assert_eq!(value("decay_input=false"), Ok(json!(false)));
        assert_eq!(value("granularity=channel"), Ok(json!("channel")));
        assert!(value("tau").is_err());
    }

    #[test]
    fn values_print_as_they_are_typed() {
        assert_eq!(text(&json!(2.0)), "2");
        assert_eq!(
            text(&json!({"name": "sigmoid", "alpha": 4.0})),
            "sigmoid(alpha=4)"
        );
        assert_eq!(text(&json!({"name": "poisson_pass"})), "poisson_pass");
        assert_eq!(text(&Value::Null), "null");
    }
}
