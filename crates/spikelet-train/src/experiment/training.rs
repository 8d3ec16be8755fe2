//! The table `training`.

use super::Experiment;
use super::table::{AUTO, Key, NONE, Table, keyed, number_in, parsed, unless, value_or};
use serde_json::{Value, json};
use spikelet_core::MemoryBudget;
use spikelet_core::document::{Fields, Located, Node};
use spikelet_nn::layer::DelayWidth;
use spikelet_nn::module::{Precision, Propagation};
use std::path::PathBuf;

pub(super) const TABLE: Table = Table {
    name: "training",
    summary: "Epochs, batches, numbers.",
    keys: &[
        Key {
            name: "epochs",
            doc: "passes over the training set",
            schema: count,
        },
        Key {
            name: "time_steps",
            doc: "time steps of a sequence",
            schema: count,
        },
        Key {
            name: "batch_size",
            doc: "images of a training step, on each rank",
            schema: count,
        },
        Key {
            name: "accumulate",
            doc: "batches whose gradients are added before each update",
            schema: count,
        },
        Key {
            name: "ema",
            doc: "decay of an average of the weights, which is evaluated, or \"none\"",
            schema: || json!({"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, {"const": NONE}]}),
        },
        Key {
            name: "delay_width",
            doc: "width of the kernels of learned delays: { start = 12.0, end = 0.23, epochs = 37 }, or \"none\"",
            schema: delay_width_schema,
        },
        Key {
            name: "precision",
            doc: "number format: \"f32\", \"tf32\", \"bf16\" or \"f16\"",
            schema: || json!({"enum": Precision::ALL.map(|p| p.name())}),
        },
        Key {
            name: "propagation",
            doc: "order of layers and time steps",
            schema: || json!({"enum": Propagation::ALL.map(|p| p.name())}),
        },
        Key {
            name: "memory_budget",
            doc: "memory limit: an amount (\"400MiB\"), a fraction (\"0.5\"), or \"none\"",
            schema: || json!({"type": "string"}),
        },
        Key {
            name: "evaluation_batch",
            doc: "images of an evaluation batch, or \"auto\"",
            schema: || json!({"anyOf": [{"type": "integer", "minimum": 1}, {"const": AUTO}]}),
        },
        Key {
            name: "seed",
            doc: "seed of initial weights, shuffling and encoders",
            schema: || json!({"type": "integer", "minimum": 0}),
        },
        Key {
            name: "init_from",
            doc: "file with weights from which the training starts, or \"none\"",
            schema: || json!({"type": "string"}),
        },
    ],
    constants: Vec::new,
    read,
    write,
};

/// The largest number of time steps, images or epochs.
const MOST: usize = u32::MAX as usize;

fn count() -> Value {
    json!({"type": "integer", "minimum": 1})
}

fn delay_width_schema() -> Value {
    let width = json!({"type": "number", "minimum": 0});
    let given = json!({
        "type": "object", "properties": {"start": width, "end": width, "epochs": count()},
        "required": ["start", "end", "epochs"], "additionalProperties": false,
    });
    json!({"anyOf": [given, {"const": NONE}]})
}

fn read(experiment: &mut Experiment, node: &Node) -> Result<(), Located> {
    let fields = Fields::new(node, TABLE.title(), &TABLE.key_names())?;
    let settings = &mut experiment.settings;
    for (key, value) in [
        ("epochs", &mut settings.epochs),
        ("time_steps", &mut settings.time_steps),
        ("batch_size", &mut settings.batch_size),
        ("accumulate", &mut settings.accumulate),
    ] {
        *value = fields.integer(key, 1..=MOST)?.unwrap_or(*value);
    }
    if let Some(node) = fields.get("ema") {
        let expected = "a number from 0 to below 1, such as 0.999, or \"none\"";
        let fits = |decay| (0.0..1.0).contains(&decay);
        settings.ema = unless(NONE, node, |node| number_in(node, "ema", expected, fits))?;
    }
    if let Some(node) = fields.get("delay_width") {
        settings.delay_width = unless(NONE, node, delay_width)?;
    }
    if let Some(node) = fields.get("precision") {
        let names = Precision::ALL.map(|precision| precision.name());
        node.choice("precision", &names)?;
        settings.precision = parsed(node, "precision")?;
    }
    if let Some(node) = fields.get("propagation") {
        let names = Propagation::ALL.map(|propagation| propagation.name());
        node.choice("propagation", &names)?;
        settings.propagation = parsed(node, "propagation")?;
    }
    if let Some(node) = fields.get("memory_budget") {
        settings.memory_budget = unless(NONE, node, |node| parsed(node, "memory_budget"))?;
    }
    if let Some(node) = fields.get("evaluation_batch") {
        let key = "evaluation_batch";
        settings.evaluation_batch = unless(AUTO, node, |node| node.integer(key, 1..=MOST))?;
    }
    if let Some(node) = fields.get("seed") {
        settings.seed = node.integer("seed", 0..=i64::MAX as usize)? as u64;
    }
    if let Some(node) = fields.get("init_from") {
        let path = |node: &Node| node.text("init_from").map(PathBuf::from);
        experiment.init_from = unless(NONE, node, path)?;
    }
    Ok(())
}

fn delay_width(node: &Node) -> Result<DelayWidth, Located> {
    if node.entries().is_none() {
        let expected = "{ start = 12.0, end = 0.23, epochs = 37 } or \"none\"";
        return Err(node.wrong("delay_width", expected));
    }
    let fields = Fields::new(node, "`delay_width`", &["start", "end", "epochs"])?;
    let width = |key: &str| {
        let expected = "a width of at least 0, in time steps";
        let fits = |width: f64| width >= 0.0 && width.is_finite();
        number_in(fields.require(key, expected)?, key, expected, fits)
    };
    let expected = "the number of epochs over which the width changes";
    let epochs = fields.require("epochs", expected)?;
    let epochs = epochs.integer("epochs", 1..=MOST)?;
    Ok(DelayWidth::new(width("start")?, width("end")?, epochs))
}

fn write(experiment: &Experiment) -> Vec<(String, Value)> {
    let settings = &experiment.settings;
    let budget = settings.memory_budget.map(|budget| match budget {
        // Without rounding.
        MemoryBudget::Bytes(bytes) => format!("{bytes}B"),
        share @ MemoryBudget::Fraction(_) => share.to_string(),
    });
    keyed([
        ("epochs", json!(settings.epochs)),
        ("time_steps", json!(settings.time_steps)),
        ("batch_size", json!(settings.batch_size)),
        ("accumulate", json!(settings.accumulate)),
        ("ema", value_or(NONE, settings.ema)),
        (
            "delay_width",
            value_or(NONE, settings.delay_width.map(|width| json!(width))),
        ),
        ("precision", json!(settings.precision.name())),
        ("propagation", json!(settings.propagation.name())),
        ("memory_budget", value_or(NONE, budget)),
        (
            "evaluation_batch",
            value_or(AUTO, settings.evaluation_batch),
        ),
        ("seed", json!(settings.seed)),
        (
            "init_from",
            value_or(
                NONE,
                experiment
                    .init_from
                    .as_ref()
                    .map(|path| path.to_string_lossy()),
            ),
        ),
    ])
}
