//! What a run's network and settings have that the network's defaults have not, as lines of text.

use crate::args::value;
use serde_json::{Map, Value, json};
use spikelet::human::thousands;
use spikelet::network::Network;
use spikelet::schema::to_keys;
use spikelet::train::Settings;

/// `settings: training.batch_size=32, training.seed=7`; `None` if all settings are the defaults of the network. All of them are
/// in `experiment.toml`.
pub fn settings_text(network: &Network, settings: &Settings) -> Option<String> {
    let [defaults, own] = [&Settings::of_network(network), settings].map(|settings| {
        let keys = to_keys(settings).into_iter();
        Value::Object(keys.map(|pair| (pair.path(), pair.value)).collect())
    });
    let changed = changed(defaults, own);
    (!changed.is_empty()).then(|| format!("settings: {}", value::list(&changed)))
}

/// `network: 155,232 parameters, hidden=392`; of a list of layers, their number.
pub fn network_text(network: &Network, parameters: usize) -> String {
    let mut parts = vec![];
    if let Network::Layers(net) = network {
        parts.push(format!("{} layers", net.layers.len()));
    }
    parts.push(format!("{} parameters", thousands(parameters as u64)));
    // A list of layers has no defaults.
    if let Ok(default) = Network::find(network.name()) {
        let [default, own] = [&default, network].map(|network| {
            let mut values = fields(json!(network));
            // Constants and surrogate may be in several places of a specification.
            if let Some(neuron) = values.get_mut("neuron") {
                *neuron = Value::from(neuron_text(neuron));
            }
            Value::Object(values)
        });
        let changed = changed(default, own);
        if !changed.is_empty() {
            parts.push(value::list(&changed));
        }
    }
    format!("network: {}", parts.join(", "))
}

/// The values that are not those of the defaults.
fn changed(defaults: Value, values: Value) -> Map<String, Value> {
    let defaults = fields(defaults);
    let mut values = fields(values);
    values.retain(|key, value| defaults.get(key).unwrap_or(&Value::Null) != value);
    values
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// `lif(tau=4, surrogate=atan)` of a neuron's specification.
fn neuron_text(spec: &Value) -> String {
    let mut constants = fields(spec["params"].clone());
    for key in ["surrogate", "reset_grad"] {
        constants.extend(spec.get(key).map(|value| (key.to_string(), value.clone())));
    }
    let name = value::text(&spec["neuron"]);
    format!("{name}({})", value::list(&constants))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet::recipes;

    #[test]
    fn only_what_differs_from_the_defaults_is_named() {
        let network = Network::find("mnist-fc").expect("it is known");
        let settings = Settings::of_network(&network);
        assert_eq!(settings_text(&network, &settings), None);
        assert_eq!(network_text(&network, 1234), "network: 1,234 parameters");
        let settings = Settings {
            batch_size: 32,
            seed: 7,
            ..settings
        };
        let text = settings_text(&network, &settings);
        assert_eq!(
            text.as_deref(),
            Some("settings: training.batch_size=32, training.seed=7")
        );
        let recipe = recipes::find("mnist-fc-spikingflow").expect("it is known");
        let preset = recipe.experiment().expect("it is sound").network;
        let text = network_text(&preset, 1234);
        let neuron = "neuron=soft_pulse_lif(surrogate=sigmoid(alpha=1), tau=100)";
        assert!(text.contains(neuron), "{text}");
        assert!(!text.contains("classes="), "{text}");
    }

    #[test]
    fn a_list_of_layers_is_summarized() {
        let toml =
            "[network]\ninput = [1, 28, 28]\nlayers = [\"flatten\", { linear = 10 }, \"neuron\"]\n";
        let net = spikelet::network::Layers::from_toml("own.toml", toml, &[]).expect("a network");
        let text = network_text(&Network::Layers(net), 7850);
        assert_eq!(text, "network: 3 layers, 7,850 parameters");
    }
}
