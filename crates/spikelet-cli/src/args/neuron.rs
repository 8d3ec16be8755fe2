//! Neurons on the command line.

use super::{Setting, surrogate_names};
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use spikelet::DefinitionError;
use spikelet::neuron::{self, NEURONS, Neuron};
use spikelet::schema::{Family, Registry, member_to_json};
use spikelet::suggest::{closest, find};
use spikelet::surrogate::SURROGATES;
use spikelet::train::experiment::Experiment;
use std::sync::Arc;

/// Constants of a neuron.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Neuron")]
pub struct NeuronArgs {
    /// Surrogate gradient (see `spikelet surrogate list`)
    #[arg(long, value_name = "NAME", value_parser = surrogate_names(), hide_possible_values = true)]
    pub surrogate: Option<String>,

    /// Set a constant of the neuron or of its surrogate: tau=4, surrogate.alpha=2; may be repeated
    ///
    /// A key with the name of a table, such as optimizer.lr=1e-3, is that of an experiment file.
    /// `trainable.KEY=layer`, `channel` or `neuron` makes the constant a trainable parameter.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,

    /// Gradient through the reset
    #[arg(hide_short_help = true, long, value_name = "NAME", value_parser = ["surrogate", "detach", "soft"])]
    pub reset_grad: Option<String>,
}

/// The option or the key of an experiment file that a key means which is no constant: `--set optimizer.lr=…` for `lr`.
fn option_of(key: &str) -> Option<String> {
    if ["hidden", "channels"].contains(&key) {
        return Some(format!("--{key} N"));
    }
    let key = find(key, ["learning_rate"]).map_or(key, |_| "lr");
    let tables = Experiment::tables_with(key);
    let keys = tables.iter().map(|table| format!("--set {table}.{key}=…"));
    (!tables.is_empty()).then(|| keys.collect::<Vec<_>>().join(" or "))
}

/// The given settings, if all their keys are known.
///
/// # Errors
/// When a key is not among the known ones.
pub fn overlay(
    what: &str,
    known: &Map<String, Value>,
    settings: impl IntoIterator<Item = (String, Value)>,
) -> Result<Map<String, Value>, Failure> {
    let mut given = Map::new();
    for (key, value) in settings {
        if !known.contains_key(&key) {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let help = match (closest(&key, names.iter().copied()), names.is_empty()) {
                _ if let Some(meant) = option_of(&key) => {
                    format!(
                        "did you mean {meant}? Constants of it: {}",
                        names.join(", ")
                    )
                }
                (Some(name), _) => format!("did you mean `{name}`? It has: {}", names.join(", ")),
                (None, false) => format!("it has: {}", names.join(", ")),
                (None, true) => "it has none".to_string(),
            };
            return Err(Failure::argument(
                format!("{what} has no constant `{key}`"),
                help,
            ));
        }
        given.insert(key, value);
    }
    Ok(given)
}

/// The constants of a member of a family with their defaults.
///
/// # Errors
/// When the name is unknown.
pub fn defaults<T: Family + ?Sized>(
    registry: &Registry<T>,
    name: &str,
) -> Result<Map<String, Value>, Failure> {
    let named = registry.named(name);
    let named = named.map_err(|error| {
        let help = format!("see `spikelet {} list`", registry.family);
        Failure::argument(DefinitionError::from(error).to_string(), help)
    })?;
    let mut constants = member_to_json(&*named);
    constants.remove("name");
    Ok(constants)
}

/// The constants of a surrogate with their defaults: its own, and the factor that all have.
///
/// # Errors
/// When the name is unknown.
pub fn surrogate_constants(name: &str) -> Result<Map<String, Value>, Failure> {
    let mut known = defaults(&SURROGATES, name)?;
    known.insert("factor".to_string(), Value::from(1.0));
    Ok(known)
}

impl NeuronArgs {
    /// The settings with keys of experiment files, and the arguments without them.
    pub fn split(&self) -> (Vec<Setting>, Self) {
        let mut neuron = self.clone();
        let all = std::mem::take(&mut neuron.set).into_iter();
        let (keys, own) = all.partition(Setting::is_of_experiment);
        neuron.set = own;
        (keys, neuron)
    }

    /// Builds the neuron of this name.
    ///
    /// # Errors
    /// When a constant is unknown or of the wrong kind.
    pub fn build(&self, name: &str) -> Result<Arc<dyn Neuron>, Failure> {
        self.finish(name, self.constants(name, None)?)
    }

    /// Builds it with this surrogate unless --surrogate is given.
    ///
    /// # Errors
    /// As [`NeuronArgs::build`].
    pub fn build_over(&self, name: &str, surrogate: &str) -> Result<Arc<dyn Neuron>, Failure> {
        let surrogate = Value::from(surrogate);
        let mut given = self.constants(name, Some(&surrogate))?;
        given.entry("surrogate").or_insert(surrogate);
        self.finish(name, given)
    }

    /// The specification of a network's neuron with the given options. A different neuron keeps the
    /// surrogate and the reset gradient, but not the constants.
    ///
    /// # Errors
    /// As [`NeuronArgs::build`].
    pub fn spec_over(&self, name: Option<&str>, base: &Value) -> Result<Value, Failure> {
        let own = base["neuron"].as_str().unwrap_or_default();
        let name = name.unwrap_or(own);
        let mut constants = match &base["params"] {
            Value::Object(params) if name == own => params.clone(),
            _ => Map::new(),
        };
        for key in ["surrogate", "reset_grad"] {
            constants.extend(base.get(key).map(|value| (key.to_string(), value.clone())));
        }
        constants.extend(self.constants(name, base.get("surrogate"))?);
        self.finish(name, constants.clone())?;
        Ok(json!({"neuron": name, "params": constants}))
    }

    /// All constants of a neuron that was built from these arguments.
    ///
    /// # Errors
    /// When there is no such neuron.
    pub fn present(&self, name: &str, neuron: &dyn Neuron) -> Result<Map<String, Value>, Failure> {
        let mut present = defaults(&NEURONS, name)?;
        let settings = self.set.iter().filter(|s| present.contains_key(&s.key));
        let settings: Vec<(String, Value)> =
            settings.map(|s| (s.key.clone(), s.value.clone())).collect();
        present.extend(settings);
        let common = neuron.common();
        present.insert("surrogate".to_string(), common.surrogate.spec());
        present.insert("reset_grad".to_string(), json!(common.reset_grad));
        Ok(present)
    }

    fn finish(
        &self,
        name: &str,
        constants: Map<String, Value>,
    ) -> Result<Arc<dyn Neuron>, Failure> {
        let wrong = |error: DefinitionError| {
            Failure::argument(
                error.to_string(),
                format!("see `spikelet neuron show {name}`"),
            )
        };
        let mut spec = constants;
        spec.insert("name".to_string(), Value::from(name));
        let made = neuron::from_spec(&spec.into()).map_err(wrong)?;
        // Constants that cannot be trainable are an error here already, not only in the layer.
        match made.common().trainable.is_empty() {
            true => Ok(made),
            false => neuron::trainables(&*made).map(|_| made).map_err(wrong),
        }
    }

    /// The given constants by name. `surrogate` is the surrogate, a name or a specification, that the
    /// neuron has without --surrogate; by default its own.
    fn constants(
        &self,
        name: &str,
        surrogate: Option<&Value>,
    ) -> Result<Map<String, Value>, Failure> {
        let defaults = defaults(&NEURONS, name)?;
        let settings = self.set.iter().map(|s| (s.key.clone(), s.value.clone()));
        let (of_surrogate, own): (Vec<_>, Vec<_>) =
            settings.partition(|(key, _)| key.starts_with("surrogate."));
        let (learned, own): (Vec<_>, Vec<_>) = own
            .into_iter()
            .partition(|(key, _)| key.starts_with("trainable."));
        if own.iter().any(|(key, _)| key == "surrogate") {
            return Err(Failure::argument(
                "the surrogate is chosen by name, not by `--set`",
                "write --surrogate NAME, and --set surrogate.KEY=VALUE for its constants",
            ));
        }
        let mut given = overlay(&format!("`{name}`"), &defaults, own)?;
        if !learned.is_empty() {
            let learned = learned.into_iter().map(|(key, how)| {
                let constant = key.strip_prefix("trainable.").unwrap_or(&key).to_string();
                (constant, how)
            });
            given.insert("trainable".to_string(), Value::Object(learned.collect()));
        }
        if self.surrogate.is_some() || !of_surrogate.is_empty() {
            let settings = of_surrogate.into_iter().map(|(key, value)| {
                let key = key.strip_prefix("surrogate.").unwrap_or(&key).to_string();
                (key, value)
            });
            let own = surrogate.unwrap_or(&defaults["surrogate"]);
            given.insert("surrogate".to_string(), self.surrogate_spec(own, settings)?);
        }
        if let Some(what) = &self.reset_grad {
            given.insert("reset_grad".to_string(), Value::from(what.as_str()));
        }
        Ok(given)
    }

    fn surrogate_spec(
        &self,
        own: &Value,
        settings: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Value, Failure> {
        let own_name = own.as_str().or(own["name"].as_str());
        let name = self.surrogate.as_deref().or(own_name).unwrap_or_default();
        let known = surrogate_constants(name)?;
        let mut spec = match (&self.surrogate, own) {
            // The same surrogate keeps its constants.
            (None, Value::Object(own)) => own.clone(),
            _ => Map::new(),
        };
        spec.extend(overlay(&format!("surrogate `{name}`"), &known, settings)?);
        spec.insert("name".to_string(), Value::from(name));
        Ok(Value::Object(spec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        neuron: NeuronArgs,
    }

    fn over(words: &[&str], name: Option<&str>) -> Value {
        let base = json!({
            "neuron": "lif", "params": {"tau": 100.0}, "surrogate": {"name": "sigmoid", "alpha": 1.0},
        });
        let words = Words::parse_from([&["spikelet"], words].concat());
        words.neuron.spec_over(name, &base).expect("known names")
    }

    #[test]
    fn given_constants_override_those_of_the_networks_neuron() {
        let sigmoid = json!({"name": "sigmoid", "alpha": 1.0});
        assert_eq!(
            over(&[], None)["params"],
            json!({"tau": 100.0, "surrogate": sigmoid})
        );
        assert_eq!(
            over(&["--set", "tau=4", "--surrogate", "atan"], None)["params"],
            json!({"tau": 4, "surrogate": {"name": "atan"}})
        );
        assert_eq!(
            over(&[], Some("if")),
            json!({"neuron": "if", "params": {"surrogate": sigmoid}})
        );
        assert_eq!(
            over(
                &["--set", "surrogate.alpha=2", "--reset-grad", "detach"],
                Some("if")
            )["params"],
            json!({"surrogate": {"name": "sigmoid", "alpha": 2}, "reset_grad": "detach"})
        );
    }
}
