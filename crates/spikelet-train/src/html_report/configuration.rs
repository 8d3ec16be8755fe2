//! The configuration: settings, network, data, plan figures.

use super::{RunRecords, cut, short};
use crate::run_info::flatten;
use serde_json::Value;
use spikelet_core::human::{bytes, thousands};
use spikelet_report::report::html::Table;
use std::collections::BTreeMap;

/// The largest number of characters of a value, and of rows of a table.
const LONGEST_VALUE: usize = 300;
const MOST_ROWS: usize = 500;

/// A value as text: texts without their quotes.
fn text_of(value: &Value) -> String {
    let text = match value {
        Value::Null => "–".to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    cut(&text, LONGEST_VALUE)
}

fn table(title: &str, value: Value) -> Table {
    let mut found = BTreeMap::new();
    flatten("", value, &mut found);
    let rows = found.iter().take(MOST_ROWS);
    let rows = rows.map(|(name, value)| (short(name), text_of(value)));
    Table {
        title: title.to_string(),
        rows: rows.collect(),
    }
}

pub(super) fn tables(run: &RunRecords<'_>) -> Vec<Table> {
    let mut tables = vec![];
    if let Some((definition, dataset)) = run.definition {
        for (name, text) in definition.entries() {
            let title = match name {
                "network" => "Network",
                "settings" => "Settings",
                _ => "Step",
            };
            tables.push(table(
                title,
                serde_json::from_str(&text).unwrap_or_default(),
            ));
        }
        tables.push(table(
            "Data",
            serde_json::to_value(dataset).unwrap_or_default(),
        ));
    }
    tables.push(plan(run));
    // A network without a name has no table.
    tables.retain(|table| table.rows.iter().any(|(_, value)| value != "–"));
    tables
}

/// The plan of a training step, and the memory.
fn plan(run: &RunRecords<'_>) -> Table {
    let mut rows = vec![];
    let mut row = |name: &str, value: String| rows.push((name.to_string(), value));
    let size = |count: usize| bytes(count as u64);
    row("device", run.device.to_string());
    if run.ranks > 1 {
        row("ranks", run.ranks.to_string());
    }
    if let Some(plan) = run.plan {
        row("kernels of a training step", plan.kernels.len().to_string());
        row(
            "operations of a training step",
            format!("{:.4} GFLOP", plan.flops() as f64 / 1e9),
        );
        row("arena: intermediate tensors", size(plan.arena_bytes));
        row(
            "parameters, states, inputs, outputs",
            size(plan.buffer_bytes()),
        );
    }
    row("memory of training", size(run.memory.step));
    row("memory of training and evaluation", size(run.memory.peak));
    row(
        "samples evaluated at once",
        thousands(run.memory.evaluation_batch as u64),
    );
    row("version of spikelet", env!("CARGO_PKG_VERSION").to_string());
    Table {
        title: "Plan and device".to_string(),
        rows,
    }
}
