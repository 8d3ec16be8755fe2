//! A run's network and settings as lines of text.

use crate::args::value;
use serde_json::{Map, Value, json};
use spikelet::network::Network;
use spikelet::train::Settings;

/// Columns of a line.
const WIDTH: usize = 100;

/// All settings that have a value, by their names in JSON: `network: …` and `settings: …`.
pub fn settings_text(network: &Network, settings: &Settings) -> String {
    let mut network = fields(json!(network));
    network.remove("name");
    if let Some(neuron) = network.get_mut("neuron") {
        *neuron = Value::from(neuron_text(neuron));
    }
    let defaults = fields(json!(Settings::default()));
    let mut settings = fields(json!(settings));
    // Without --augment, the augmentation is a long list of zeros.
    settings.retain(|key, value| key != "augment" || defaults.get(key) != Some(value));
    let lines = [("network", network), ("settings", settings)].map(|(name, mut values)| {
        values.retain(|_, value| !value.is_null());
        wrapped(&format!("{name}: {}", value::list(&values)))
    });
    lines.join("\n")
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

/// A list over several lines, the others indented.
fn wrapped(list: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for item in list.split_inclusive(", ") {
        if column > 0 && column + item.trim_end().chars().count() > WIDTH {
            text.truncate(text.trim_end().len());
            text.push_str("\n  ");
            column = 2;
        }
        text.push_str(item);
        column += item.chars().count();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet::network::MnistFc;

    #[test]
    fn every_setting_that_has_a_value_is_named() {
        let network = Network::MnistFc(MnistFc::preset());
        let settings = Settings::preset_of(&network);
        let text = settings_text(&network, &settings);
        assert!(text.starts_with("network: "), "{text}");
        let unwrapped = text.replace("\n  ", " ");
        let neuron = "neuron=soft_pulse_lif(surrogate=sigmoid(alpha=1), tau=100)";
        assert!(unwrapped.contains(neuron), "{text}");
        for (key, value) in fields(json!(settings)) {
            let told = !value.is_null() && key != "augment";
            assert_eq!(
                unwrapped.contains(&format!("{key}=")),
                told,
                "{key}: {text}"
            );
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
    }
}
