//! Metadata of the checkpoint format before this one.
//!
//! Format 4 had the settings as one object with the names of the fields in the program; today they are the tables of an experiment
//! file.

use crate::Settings;
use crate::experiment::with_adamw;
use crate::optim::LrSchedule;
use serde_json::{Map, Value, json};
use spikelet_core::document::{Located, Node};
use spikelet_nn::encoder;
use spikelet_schema::{Schema, from_json, to_json};

/// The earlier format that is read.
pub(super) const EARLIER: &str = "spikelet checkpoint 4";

/// The progress of a run of format 4: early ones have no peak of the memory.
pub(super) fn progress(mut progress: Value) -> Value {
    if let Some(fields) = progress.as_object_mut() {
        fields.entry("peak_bytes").or_insert_with(|| json!(0));
    }
    progress
}

/// The definition of a step of format 4.
pub(super) fn step(mut step: Value) -> Result<Value, Located> {
    step["schedule"] = schedule(&step["schedule"])?.into();
    for of in ["step", "eval_step"] {
        let groups = step[of].get_mut("groups").and_then(Value::as_array_mut);
        for group in groups.into_iter().flatten() {
            let constants = group["constants"].as_object_mut();
            if constants.and_then(|own| own.remove("decoupled")) == Some(Value::Bool(true)) {
                group["optimizer"] = "adamw".into();
            }
        }
    }
    Ok(step)
}

/// The keys of a schedule of format 4, which may contain other schedules.
fn schedule(earlier: &Value) -> Result<Map<String, Value>, Located> {
    Ok(to_json(&from_json::<LrSchedule>(earlier)?))
}

/// The tables of the settings of format 4.
pub(super) fn settings(settings: Value) -> Result<Value, Located> {
    let Value::Object(settings) = settings else {
        return Ok(settings);
    };
    let smoothing = settings.get("label_smoothing").cloned();
    let mut tables = json!({});
    for (field, value) in settings {
        let mut put = |table: &str, key: &str, value: Value| tables[table][key] = value;
        match (&field[..], value) {
            ("encoder", Value::String(text)) => {
                let made = encoder::parse(&text).map_err(|error| Located::refused(&error, ""))?;
                tables["encoder"] = made.spec();
            }
            ("loss", name) => {
                put("loss", "name", name.clone());
                if let Some(smoothing) = smoothing.clone().filter(|_| name != "mse") {
                    put("loss", "label_smoothing", smoothing);
                }
            }
            ("label_smoothing", _) | (_, Value::Null) => {}
            ("schedule", value) => tables["schedule"] = schedule(&value)?.into(),
            ("optimizer", fields) => {
                let optimizer = with_adamw(&Node::from_json(&fields)?);
                for entry in optimizer.entries().into_iter().flatten() {
                    put("optimizer", &entry.key, entry.value.to_json());
                }
            }
            ("frames", Value::Object(fields)) => {
                let frames = to_json(&from_json::<spikelet_data::FrameSettings>(&fields.into())?);
                frames
                    .into_iter()
                    .for_each(|(key, value)| put("data", &key, value));
            }
            ("clip", Value::Object(clip)) => {
                clip.into_iter()
                    .for_each(|(kind, most)| put("optimizer", &format!("clip_{kind}"), most));
            }
            ("groups", groups) => put("optimizer", "groups", groups),
            ("learning_rate", rate) => put("optimizer", "lr", rate),
            ("memory_budget", budget) => {
                let text = match (&budget["bytes"], &budget["fraction"]) {
                    (Value::Null, share) => share.to_string(),
                    (bytes, _) => format!("{bytes}B"),
                };
                put("training", "memory_budget", text.into());
            }
            (field, value) => {
                let mut own = Settings::DECLARATION.fields.iter();
                let own = own.find(|own| own.key == field);
                put(own.map_or("training", |own| own.table), field, value);
            }
        }
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::schedule::Cosine;
    use crate::optim::{AdamW, LrSchedule};
    use crate::penalty::RateBounds;
    use crate::{ParameterGroup, Penalty};
    use spikelet_core::MemoryBudget;
    use spikelet_data::Augment;
    use spikelet_nn::loss::{CrossEntropy, Tet};

    fn read(text: &str) -> Settings {
        let earlier = serde_json::from_str(text).expect("JSON");
        let tables = super::settings(earlier).unwrap_or_else(|error| panic!("{}", error.problem));
        from_json(&tables).unwrap_or_else(|error| panic!("{}", error.problem))
    }

    /// As version 0.1 of the program wrote them.
    const PLAIN: &str = r#"{"time_steps":8,"batch_size":128,"epochs":2,"learning_rate":0.002,"schedule":{"name":"cosine","min_factor":0.0},"optimizer":{"name":"adam","beta1":0.9,"beta2":0.999,"epsilon":1e-8,"weight_decay":0.0,"decoupled":false},"clip":null,"accumulate":1,"ema":null,"encoder":"poisson","loss":"mse","label_smoothing":0.0,"bias_decay":true,"propagation":"layer-by-layer","precision":"f32","memory_budget":null,"evaluation_batch":null,"sync_batch_norm":false,"augment":{"crop":0,"cutout":0,"events":[],"flip":false,"noise":0.0,"rotate":0.0,"scale":0.0,"sequences":[],"shear":0.0,"shift":0.0,"transforms":[]},"mixup":null,"cutmix":null,"normalize":null,"validation":0.1,"seed":0}"#;
    const CHANGED: &str = r#"{"time_steps":3,"batch_size":128,"epochs":2,"learning_rate":0.002,"schedule":{"name":"per_epoch","then":{"name":"warm_up","epochs":1.0,"then":{"name":"cosine_over","epochs":5.0,"min_factor":0.0}}},"optimizer":{"name":"adam","beta1":0.9,"beta2":0.99,"epsilon":1e-8,"weight_decay":0.01,"decoupled":true},"groups":[{"parameters":"*.weight","optimizer":null,"constants":{"weight_decay":0.0},"learning_rate":0.001,"frozen":false}],"clip":{"norm":1.0},"accumulate":1,"ema":null,"encoder":"latency:code=log","loss":"tet","label_smoothing":0.1,"penalties":[{"name":"rate-bounds","low":0.0,"high":0.25,"layers":"*","weight":0.1}],"bias_decay":true,"propagation":"layer-by-layer","precision":"f32","memory_budget":{"bytes":419430400},"evaluation_batch":null,"sync_batch_norm":false,"augment":{"crop":2,"cutout":0,"events":[],"flip":false,"noise":0.1,"rotate":0.0,"scale":0.0,"sequences":[],"shear":0.0,"shift":0.0,"transforms":[]},"mixup":0.2,"cutmix":null,"normalize":null,"validation":0.1,"seed":0,"frames":{"rule":{"name":"time","frames":16},"size":null,"events":[],"sensor":[34,34],"on_device":true}}"#;

    #[test]
    fn settings_of_the_format_before_are_the_same() {
        let plain = Settings {
            epochs: 2,
            ..Settings::default()
        };
        assert_eq!(read(PLAIN), plain);
        let cosine = Cosine {
            epochs: Some(5.0),
            ..Cosine::default()
        };
        let bounds = RateBounds {
            low: 0.0,
            high: 0.25,
        };
        let group = ParameterGroup {
            learning_rate: Some(1e-3),
            constants: Map::from_iter([("weight_decay".to_string(), json!(0.0))]),
            ..ParameterGroup::new("*.weight")
        };
        let mut expected = Settings {
            time_steps: 3,
            schedule: LrSchedule::from(cosine).warm_up(1.0).per_epoch(),
            optimizer: AdamW {
                beta2: 0.99,
                ..AdamW::new(0.01)
            }
            .into(),
            groups: vec![group],
            clip_norm: Some(1.0),
            encoder: "latency code=log".parse().expect("an encoder"),
            loss: Tet {
                cross_entropy: CrossEntropy::new().label_smoothing(0.1),
            }
            .into(),
            penalties: vec![Penalty::new(bounds, "*", 0.1)],
            memory_budget: Some(MemoryBudget::Bytes(400 << 20)),
            augment: Augment {
                crop_padding: 2,
                noise: 0.1,
                ..Augment::default()
            },
            mixup: Some(0.2),
            ..plain
        };
        expected.frames.rule = Some("time=16".parse().expect("a rule"));
        expected.frames.sensor = Some([34, 34]);
        expected.frames.frames_on = spikelet_data::FramesOn::Device;
        assert_eq!(read(CHANGED), expected);
    }

    #[test]
    fn the_definition_of_a_step_of_the_format_before_is_the_same() {
        let earlier = json!({
            "schedule": {"name": "warm_up", "epochs": 2.0, "then": {"name": "constant"}},
            "step": {"groups": [{"optimizer": "adam", "constants": {"beta1": 0.9, "decoupled": true}}]},
            "eval_step": null,
        });
        let read = step(earlier).unwrap_or_else(|error| panic!("{}", error.problem));
        let schedule = json!({"name": "constant", "warm_up": 2.0, "per_epoch": false});
        let group = json!({"optimizer": "adamw", "constants": {"beta1": 0.9}});
        assert_eq!(
            read,
            json!({"schedule": schedule, "step": {"groups": [group]}, "eval_step": null})
        );
    }
}
