//! Metadata of the checkpoint format before this one.
//!
//! Format 5 had no settings for a step of one's own, a kind of layers that is now keys of another one, and other names of the
//! learning rate of a group of a step and of the mean squared error of class scores.

use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The earlier format that is read.
pub(super) const EARLIER: &str = "spikelet checkpoint 5";

/// The metadata in today's form.
pub(super) fn upgrade(metadata: &mut HashMap<String, Value>) {
    if let Some(run) = metadata.get_mut("step") {
        rename_lr(run);
    }
    if let Some(loss) = metadata.get_mut("settings").and_then(|s| s.get_mut("loss")) {
        rename_mse(loss);
    }
    if let Some(network) = metadata.get_mut("network") {
        rename_layers(network);
    }
    let step = metadata.get_mut("step").and_then(Value::as_object_mut);
    if let Some(settings) = step.map(settings_of) {
        metadata.insert("settings".to_string(), settings);
        metadata.insert("network".to_string(), Value::Null);
    }
}

/// The learning rate of a group of a step is `lr`, as in files.
fn rename_lr(run: &mut Value) {
    for step in ["step", "eval_step"] {
        let groups = run.get_mut(step).and_then(|step| step.get_mut("groups"));
        let groups = groups.and_then(Value::as_array_mut).into_iter().flatten();
        for group in groups.filter_map(Value::as_object_mut) {
            if let Some(lr) = group.remove("learning_rate") {
                group.insert("lr".to_string(), lr);
            }
        }
    }
}

/// The mean squared error of class scores is `mse-one-hot`; `mse` is that of values.
fn rename_mse(loss: &mut Value) {
    if loss["name"] == "mse" {
        loss["name"] = "mse-one-hot".into();
    }
}

/// `delayed-recurrent` is `recurrent` with the same keys.
fn rename_layers(value: &mut Value) {
    const BEFORE: &str = "delayed-recurrent";
    const NOW: &str = "recurrent";
    match value {
        Value::Array(all) => all.iter_mut().for_each(rename_layers),
        Value::Object(keys) => {
            if let Some(neuron) = keys.remove(BEFORE) {
                keys.insert(NOW.to_string(), neuron);
            }
            if keys.get("layer").is_some_and(|kind| kind == BEFORE) {
                keys.insert("layer".to_string(), NOW.into());
            }
            keys.values_mut().for_each(rename_layers);
        }
        _ => {}
    }
}

/// The settings of a run of a step, which its definition had.
fn settings_of(run: &mut Map<String, Value>) -> Value {
    let mut take = |key: &str| run.remove(key).unwrap_or_default();
    let [epochs, batch_size, schedule] = ["epochs", "batch_size", "schedule"].map(&mut take);
    let own = run.get("step").cloned().unwrap_or_default();
    for step in ["step", "eval_step"] {
        if let Some(step) = run.get_mut(step).and_then(Value::as_object_mut) {
            step.retain(|key, _| ["name", "inputs", "groups", "graph"].contains(&&key[..]));
            let groups = step.get_mut("groups").and_then(Value::as_array_mut);
            if let Some(groups) = groups {
                groups.retain(|group| group["parameters"] != "*");
            }
        }
    }
    let groups = own["groups"].as_array();
    let of_others =
        groups.and_then(|groups| groups.iter().find(|group| group["parameters"] == "*"));
    let mut optimizer = Map::new();
    if let Some(group) = of_others {
        let constants = group["constants"].as_object().into_iter().flatten();
        optimizer.extend(constants.map(|(key, value)| (key.clone(), value.clone())));
        optimizer.insert("name".to_string(), group["optimizer"].clone());
        optimizer.insert("lr".to_string(), group["lr"].clone());
    }
    for key in ["layer_decay", "gradient_noise"] {
        optimizer.extend(own.get(key).map(|value| (key.to_string(), value.clone())));
    }
    for (kind, most) in own["clip"].as_object().into_iter().flatten() {
        optimizer.insert(format!("clip_{kind}"), most.clone());
    }
    let propagation = own["propagation"]
        .as_str()
        .unwrap_or_default()
        .replace('_', "-");
    let mut training = json!({
        "epochs": epochs,
        "batch_size": batch_size,
        "accumulate": own["accumulate"],
        "precision": own["precision"],
        "propagation": propagation,
        "seed": own["seed"],
    });
    if !own["ema"].is_null() {
        training["ema"] = own["ema"].clone();
    }
    json!({ "training": training, "schedule": schedule, "optimizer": optimizer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::optim::AdamW;
    use spikelet_graph::Precision;

    #[test]
    fn a_step_of_the_format_before_has_settings() {
        let step = json!({
            "epochs": 3, "batch_size": 16, "samples": 100, "eval_step": null, "loaders": {},
            "schedule": {"name": "constant", "warm_up": 2.0, "per_epoch": false},
            "step": {
                "batch_size": 16, "accumulate": 2, "clip": {"norm": 1.0}, "ema": 0.99, "precision": "bf16",
                "propagation": "step_by_step", "seed": 7, "gradient_noise": 0.1,
                "groups": [
                    {"parameters": "2.*", "optimizer": "sgd", "constants": {"momentum": 0.0}, "learning_rate": 0.1},
                    {
                        "parameters": "*", "optimizer": "adamw", "learning_rate": 1e-2,
                        "constants": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01},
                    },
                ],
            },
        });
        let mut metadata = HashMap::from([("step".to_string(), step)]);
        upgrade(&mut metadata);
        let read = spikelet_schema::from_json::<Settings>(&metadata["settings"]);
        let settings = read.unwrap_or_else(|error| panic!("{}", error.problem));
        assert_eq!(
            (settings.epochs, settings.batch_size, settings.seed),
            (3, 16, 7)
        );
        assert_eq!((settings.ema, settings.clip_norm), (Some(0.99), Some(1.0)));
        assert_eq!(settings.precision, Precision::Bf16);
        assert_eq!(settings.optimizer, AdamW::new(1e-2).into());
        assert_eq!(settings.gradient_noise, Some(0.1));
        assert_eq!(settings.schedule.warm_up, 2.0);
        let step: crate::checkpoint::StepDefinition =
            serde_json::from_value(metadata["step"].clone()).expect("no other fields are missing");
        assert_eq!(step.samples, 100);
        let groups = step.step["groups"].as_array().expect("a list");
        let constants = json!({"momentum": 0.0});
        let group =
            json!({"parameters": "2.*", "optimizer": "sgd", "constants": constants, "lr": 0.1});
        assert_eq!(groups, &[group]);
        assert_eq!(step.step.get("seed"), None);
    }

    #[test]
    fn the_loss_of_class_scores_has_its_name_of_today() {
        let settings = json!({"loss": {"name": "mse", "skip_steps": 2}});
        let mut metadata = HashMap::from([("settings".to_string(), settings)]);
        upgrade(&mut metadata);
        let read = spikelet_schema::from_json::<Settings>(&metadata["settings"]);
        let settings = read.unwrap_or_else(|error| panic!("{}", error.problem));
        assert_eq!(
            (settings.loss.name(), settings.skip_steps),
            ("mse-one-hot", 2)
        );
    }

    #[test]
    fn layers_of_the_format_before_have_their_names_of_today() {
        let layers = json!([{"linear": 4}, {"delayed-recurrent": "lif", "max_delay": 3}]);
        let network =
            json!({"layers": [{"layers": layers}, {"layer": "delayed-recurrent", "max_delay": 2}]});
        let mut metadata = HashMap::from([("network".to_string(), network)]);
        upgrade(&mut metadata);
        let layers = json!([{"linear": 4}, {"recurrent": "lif", "max_delay": 3}]);
        let expected =
            json!({"layers": [{"layers": layers}, {"layer": "recurrent", "max_delay": 2}]});
        assert_eq!(metadata["network"], expected);
    }
}
