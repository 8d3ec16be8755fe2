//! The table `output`.

use super::Experiment;
use super::LayerMonitors;
use super::table::{Key, Table, keyed, number_in, parsed};
use serde_json::{Value, json};
use spikelet_core::document::{Fields, Located, Node};

/// What an experiment measures and writes. It does not change what is trained.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutputSettings {
    /// The values of layers that are measured.
    pub monitor: Vec<LayerMonitors>,
    /// The number of training steps between two points of the curves.
    pub curve_steps: usize,
    /// The longest time between two checkpoints in seconds.
    pub checkpoint_seconds: f64,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self {
            monitor: vec![],
            curve_steps: 50,
            checkpoint_seconds: 20.0,
        }
    }
}

pub(super) const TABLE: Table = Table {
    name: "output",
    summary: "What is measured and written.",
    keys: &[
        Key {
            name: "monitor",
            doc: "values of layers that are measured, such as [\"rate\", \"gradient=fc.*\"]",
            schema: || json!({"type": "array", "items": {"type": "string"}}),
        },
        Key {
            name: "curve_steps",
            doc: "training steps between two points of the curves",
            schema: || json!({"type": "integer", "minimum": 1}),
        },
        Key {
            name: "checkpoint_seconds",
            doc: "longest time between two checkpoints, in seconds",
            schema: || json!({"type": "number", "exclusiveMinimum": 0}),
        },
    ],
    constants: Vec::new,
    read,
    write,
};

fn read(experiment: &mut Experiment, node: &Node) -> Result<(), Located> {
    let fields = Fields::new(node, TABLE.title(), &TABLE.key_names())?;
    let output = &mut experiment.output;
    if let Some(node) = fields.get("monitor") {
        let items = node.list("monitor")?.iter();
        output.monitor = items
            .map(|item| parsed(item, "monitor"))
            .collect::<Result<_, _>>()?;
    }
    if let Some(steps) = fields.integer("curve_steps", 1..=u32::MAX as usize)? {
        output.curve_steps = steps;
    }
    if let Some(node) = fields.get("checkpoint_seconds") {
        let key = "checkpoint_seconds";
        output.checkpoint_seconds = number_in(node, key, "a number above 0", |s| s > 0.0)?;
    }
    Ok(())
}

fn write(experiment: &Experiment) -> Vec<(String, Value)> {
    let output = &experiment.output;
    let monitors: Vec<String> = output.monitor.iter().map(ToString::to_string).collect();
    keyed([
        ("monitor", json!(monitors)),
        ("curve_steps", json!(output.curve_steps)),
        ("checkpoint_seconds", json!(output.checkpoint_seconds)),
    ])
}
