//! The result of a comparison as text and as JSON.

use super::super::{path_text, say_table};
use crate::table::Table;
use serde_json::{Value, json};
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet::nir::Semantics;
use spikelet::nir::diff::{
    Cause, DiffOptions, DiffReport, FirstDifference, LayerDifference, OutputDifference, Quantity,
    Trial,
};
use std::path::Path;
use std::time::Duration;

/// The number of changes without success that are printed.
const SHOWN: usize = 5;

/// The report as one line of JSON.
pub fn json(
    files: [&Path; 2],
    report: &DiffReport,
    options: &DiffOptions,
    time: Duration,
) -> Value {
    let side = |k: usize| {
        let semantics: Option<&Semantics> = report.semantics[k].as_ref();
        json!({
            "file": path_text(files[k]), "runs": semantics.is_some(),
            "dt": semantics.map(|s| s.dt),
            "discretization": semantics.map(|s| s.discretization.name()),
            "reset": semantics.map(|s| s.reset.name()),
            "reset_delay": semantics.map(|s| s.reset_delay),
            "fires": semantics.map(|s| s.fires.name()),
            "feedback": semantics.map(|s| s.feedback.name()),
            "v_start": semantics.map(|s| s.v_start.name()),
        })
    };
    let first = report.first.as_ref().map(|first| {
        json!({
            "layer_a": first.layer_a, "layer_b": first.layer_b, "sequence": first.quantity,
            "step": first.step, "sample": first.sample, "neuron": first.neuron,
            "a": first.a, "b": first.b, "h_a": first.h[0], "h_b": first.h[1],
        })
    });
    let layer = |layer: &LayerDifference| {
        json!({
            "layer_a": layer.layer_a, "layer_b": layer.layer_b, "sequences": layer.quantities,
            "elements": layer.elements, "differing": layer.differing,
            "first_step": layer.first_step, "largest": layer.largest,
        })
    };
    let output = |output: &OutputDifference| {
        json!({
            "layer_a": output.layer_a, "layer_b": output.layer_b, "elements": output.elements,
            "differing": output.differing, "largest": output.largest, "mean": output.mean,
            "samples": output.samples, "other_class": output.other_class,
        })
    };
    json!({
        "a": side(0), "b": side(1), "equal": report.is_equal(), "tolerance": options.tolerance,
        "first": first,
        "layers": report.layers.iter().map(layer).collect::<Vec<_>>(),
        "only_a": report.only_a, "only_b": report.only_b,
        "outputs": report.outputs.iter().map(output).collect::<Vec<_>>(),
        "cause": report.cause().map(trial),
        "tried": report.trials.iter().map(trial).collect::<Vec<_>>(),
        "seconds": time.as_secs_f64(),
    })
}

fn trial(trial: &Trial) -> Value {
    json!({
        "causes": trial.causes.iter().map(|cause| cause.name()).collect::<Vec<_>>(),
        "changed": trial.changed.to_string(), "change": trial.change, "explains": trial.explains,
        "first_step": trial.first.as_ref().map(|(step, _)| step),
        "first_layer": trial.first.as_ref().map(|(_, layer)| layer),
        "differing": trial.differing,
    })
}

/// Prints the report.
pub fn say(console: &Console, files: [&Path; 2], report: &DiffReport, options: &DiffOptions) {
    for (k, name) in ["A", "B"].into_iter().enumerate() {
        let how = report.semantics[k].as_ref().map(ToString::to_string);
        let how = how.unwrap_or_else(|| "recorded sequences".to_string());
        console.say(format!("{name}  {}: {how}", files[k].display()));
    }
    for (name, layers) in [("A", &report.only_a), ("B", &report.only_b)] {
        if !layers.is_empty() {
            console.say(format!("only in {name}: {}", layers.join(", ")));
        }
    }
    let elements: usize = report.layers.iter().map(|layer| layer.elements).sum();
    let Some(first) = &report.first else {
        let layers = match report.layers.len() {
            1 => "1 layer".to_string(),
            count => format!("{count} layers"),
        };
        let elements = thousands(elements as u64);
        let text = format!(
            "equal: {elements} elements in {layers}, within {:e}",
            options.tolerance
        );
        console.say(format!("\n{}", console.green(text)));
        return;
    };
    console.say("");
    say_first(console, first);
    console.say("");
    say_layers(console, &report.layers);
    console.say("");
    for output in &report.outputs {
        console.say(output_text(output));
    }
    if options.find_cause {
        console.say("");
        say_cause(console, report);
    }
}

/// Both names, or the name that both have.
fn names(a: &str, b: &str) -> String {
    match a == b {
        true => format!("`{a}`"),
        false => format!("`{a}` (in B `{b}`)"),
    }
}

fn say_first(console: &Console, first: &FirstDifference) {
    let place = format!(
        "first difference: layer {}, step {}, sample {}, neuron {:?}",
        names(&first.layer_a, &first.layer_b),
        first.step,
        first.sample,
        first.neuron
    );
    console.say(console.bold(place));
    let mut table = Table::new(&["", "A", "B"]).right(&[1, 2]);
    let row = |quantity: Quantity, a, b| [quantity.summary().to_string(), a, b];
    table.row(row(first.quantity, number(first.a), number(first.b)));
    if first.quantity != Quantity::PotentialBeforeReset && first.h.iter().any(Option::is_some) {
        let [a, b] = first.h.map(|h| h.map_or("–".to_string(), number));
        table.row(row(Quantity::PotentialBeforeReset, a, b));
    }
    for line in table.lines() {
        console.say(format!("  {line}"));
    }
}

/// A value with the digits of an f32.
fn number(value: f64) -> String {
    match value.fract() == 0.0 && value.abs() < 1e6 {
        true => format!("{value}"),
        false => format!("{value:.7}"),
    }
}

fn say_layers(console: &Console, layers: &[LayerDifference]) {
    let head = [
        "layer",
        "sequences",
        "differ",
        "of",
        "first step",
        "largest |a − b|",
    ];
    let mut table = Table::new(&head).right(&[2, 3, 4, 5]);
    for layer in layers {
        let sequences: Vec<_> = layer
            .quantities
            .iter()
            .map(|quantity| quantity.name())
            .collect();
        let name = match layer.layer_a == layer.layer_b {
            true => layer.layer_a.clone(),
            false => format!("{} = {}", layer.layer_a, layer.layer_b),
        };
        table.row([
            name,
            sequences.join(", "),
            thousands(layer.differing as u64),
            thousands(layer.elements as u64),
            layer
                .first_step
                .map_or("–".to_string(), |step| step.to_string()),
            distance(layer.largest),
        ]);
    }
    say_table(console, &table);
}

/// A distance between values.
fn distance(value: f64) -> String {
    match value {
        0.0 => "0".to_string(),
        1e-3..1e4 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

fn output_text(output: &OutputDifference) -> String {
    let name = names(&output.layer_a, &output.layer_b);
    if output.differing == 0 {
        return format!("output {name}: equal");
    }
    let class = output.other_class.map(|count| {
        let samples = output.samples;
        format!("; the largest sum over time is another neuron's for {count} of {samples} samples")
    });
    format!(
        "output {name}: {} of {} elements differ, by up to {}, on average {}{}",
        thousands(output.differing as u64),
        thousands(output.elements as u64),
        distance(output.largest),
        distance(output.mean),
        class.unwrap_or_default()
    )
}

fn say_cause(console: &Console, report: &DiffReport) {
    let explains: Vec<&Trial> = report
        .trials
        .iter()
        .filter(|trial| trial.explains)
        .collect();
    let total = report.trials.len();
    if let Some(cause) = explains.first() {
        let names: Vec<&str> = cause.causes.iter().map(|cause| cause.name()).collect();
        console.say(console.bold(format!("cause: {}", names.join(" and "))));
        let changed = cause.changed;
        console.say(format!(
            "with this change of {changed}, nothing differs: {}",
            cause.change
        ));
        // Conventions and parameters contain the change of a specific cause.
        let is_specific = |trial: &&&Trial| {
            let general = [Cause::Convention, Cause::Parameters];
            !trial.causes.iter().any(|cause| general.contains(cause))
        };
        for other in explains.iter().skip(1).filter(is_specific).take(SHOWN) {
            console.say(format!("this too: {}, in {}", other.change, other.changed));
        }
        console.say(console.dim(format!("{total} changes were tried")));
        return;
    }
    if total == 0 {
        console.say("the cause is unknown: neither network can run, so that nothing was tried");
        return;
    }
    console.say(console.bold(format!(
        "the cause is unknown: none of {total} changes removes the difference"
    )));
    let before = report.differing();
    let mut table = Table::new(&["the closest", "in", "still differ", "first"]).right(&[2]);
    let better: Vec<&Trial> = report
        .trials
        .iter()
        .filter(|trial| trial.differing < before)
        .take(SHOWN)
        .collect();
    if better.is_empty() {
        return;
    }
    for trial in better {
        let first = trial.first.as_ref();
        table.row([
            trial.change.clone(),
            trial.changed.to_string(),
            format!(
                "{} of {}",
                thousands(trial.differing as u64),
                thousands(before as u64)
            ),
            first.map_or(String::new(), |(step, layer)| {
                format!("step {step}, `{layer}`")
            }),
        ]);
    }
    say_table(console, &table);
}
