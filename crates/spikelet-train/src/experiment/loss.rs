//! The table `loss`.

use super::Experiment;
use super::penalties;
use super::table::{Key, Table, keyed, number_in, refused, unless, value_or};
use crate::Loss;
use serde_json::{Value, json};
use spikelet_core::document::{Fields, Located, Node};

pub(super) const TABLE: Table = Table {
    name: "loss",
    summary: "The loss of the scores, which are the mean of the output over time.",
    keys: &[
        Key {
            name: "name",
            doc: "\"cross-entropy\", \"mse\", or \"tet\" (cross entropy at each time step)",
            schema: || json!({"enum": Loss::NAMES}),
        },
        Key {
            name: "label_smoothing",
            doc: "label smoothing of cross-entropy and tet",
            schema: || json!({"type": "number", "minimum": 0, "exclusiveMaximum": 1}),
        },
        Key {
            name: PENALTIES,
            doc: "penalties on spikes in training, such as [{ name = \"spike-count\", layers = \"lif*\", weight = 1e-3 }]",
            schema: penalties::schema,
        },
        Key {
            name: "skip_steps",
            doc: "first time steps that do not count, where each step has a label",
            schema: || json!({"type": "integer", "minimum": 0}),
        },
        Key {
            name: "unlabeled",
            doc: "class of time steps without a label, or \"ignore\"",
            schema: || json!({"anyOf": [{"type": "integer", "minimum": 0}, {"const": IGNORE}]}),
        },
    ],
    constants: Vec::new,
    read,
    write,
};

const PENALTIES: &str = "penalties";

/// The string for time steps that are left out.
const IGNORE: &str = "ignore";

/// The largest class of unlabeled time steps.
const MAX_CLASS: usize = 1 << 20;

fn read(experiment: &mut Experiment, node: &Node) -> Result<(), Located> {
    let fields = Fields::new(node, TABLE.title(), &TABLE.key_names())?;
    let settings = &mut experiment.settings;
    if let Some(node) = fields.get("name") {
        let name = node.choice("name", &Loss::NAMES)?;
        settings.loss = Loss::find(name).map_err(|error| refused(&error, node))?;
    }
    if let Some(node) = fields.get("label_smoothing") {
        let key = "label_smoothing";
        settings.label_smoothing = number_in(node, key, "a number from 0 to below 1", |x| {
            (0.0..1.0).contains(&x)
        })?;
        if settings.loss == Loss::Mse && settings.label_smoothing != 0.0 {
            return Err(node.wrong(key, "0 with the loss \"mse\", which has none"));
        }
    }
    if let Some(node) = fields.get(PENALTIES) {
        settings.penalties = penalties::read(node, PENALTIES)?;
    }
    if let Some(node) = fields.get("skip_steps") {
        settings.skip_steps = node.integer("skip_steps", 0..=usize::MAX)?;
    }
    if let Some(node) = fields.get("unlabeled") {
        let read = |node: &Node| {
            let class = node.integer("unlabeled", 0..=MAX_CLASS);
            class.map_err(|_| node.wrong("unlabeled", "a class, such as 0, or \"ignore\""))
        };
        settings.unlabeled = unless(IGNORE, node, read)?.map(|class| class as i64);
    }
    Ok(())
}

fn write(experiment: &Experiment) -> Vec<(String, Value)> {
    let settings = &experiment.settings;
    keyed([
        ("name", Value::from(settings.loss.name())),
        ("label_smoothing", Value::from(settings.label_smoothing)),
        (PENALTIES, penalties::write(&settings.penalties)),
        ("skip_steps", Value::from(settings.skip_steps)),
        ("unlabeled", value_or(IGNORE, settings.unlabeled)),
    ])
}
