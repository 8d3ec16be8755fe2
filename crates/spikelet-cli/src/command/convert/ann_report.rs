//! The tables of a conversion: layers, and accuracy by time steps.

use crate::command::say_table;
use crate::table::Table;
use spikelet::human::{percent, thousands};
use spikelet::log::Console;
use spikelet::train::conversion::{Comparison, LayerComparison};

/// Prints how far the networks are from each other.
pub(super) fn say(found: &Comparison, console: &Console) {
    let mut head = ["layer", "threshold", "activation", "clipped", "rate"]
        .map(String::from)
        .to_vec();
    head.extend(
        found
            .time_steps
            .iter()
            .map(|at| format!("error T={}", at.time_steps)),
    );
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(&head).right(&(1..head.len()).collect::<Vec<_>>());
    for layer in &found.layers {
        let errors = layer.errors.iter().map(|error| format!("{error:.3}"));
        let cells = [
            layer.layer.clone(),
            threshold(layer),
            format!("{:.4}", layer.activation),
            percent(layer.clipped),
            format!("{:.4}", layer.rate),
        ];
        table.row(cells.into_iter().chain(errors));
    }
    say_table(console, &table);
    console.say(String::new());
    let head = [
        "time steps",
        "accuracy",
        "same class as the ANN",
        "spikes a sample",
    ];
    let mut table = Table::new(&head).right(&[0, 1, 2, 3]);
    for at in &found.time_steps {
        table.row([
            at.time_steps.to_string(),
            percent(at.accuracy),
            percent(at.agreement),
            thousands(at.spikes.round() as u64),
        ]);
    }
    table.row(["ANN".to_string(), percent(found.ann_accuracy)]);
    say_table(console, &table);
}

fn threshold(layer: &LayerComparison) -> String {
    match layer.threshold {
        [low, high] if low == high => format!("{low:.4}"),
        [low, high] => format!("{low:.4} … {high:.4}"),
    }
}
