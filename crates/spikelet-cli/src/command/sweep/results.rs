//! The results of a sweep.

use super::super::series::{RunResult, Series, SeriesRun};
use super::super::{path_text, say_table};
use super::{list_of, text_of};
use crate::table::Table;
use serde_json::{Map, Value, json};
use spikelet::human::{duration, percent};
use spikelet::log::Console;

/// Prints the runs, the best one first. It is selected by its validation accuracy, never on the test set.
pub fn say(console: &Console, series: &Series) {
    let description = series.description();
    let mut runs: Vec<(&SeriesRun, &RunResult)> = (description.runs.iter())
        .filter_map(|run| Some((run, run.result.as_ref()?)))
        .collect();
    let accuracy = |result: &RunResult| match result.diverged {
        None => result.validation_accuracy,
        Some(_) => None,
    };
    let selects = runs.iter().any(|(_, result)| accuracy(result).is_some());
    if selects {
        // Runs with the same accuracy keep their order; those that diverged are the last.
        let key = |result: &RunResult| accuracy(result).unwrap_or(-1.0);
        runs.sort_by(|(_, a), (_, b)| key(b).total_cmp(&key(a)));
    }
    let best = runs.first().filter(|_| selects);
    console.say_json(&json!({
        "event": "sweep_done", "folder": path_text(series.path()), "runs": description.runs,
        "best": best.map(|(run, result)| json!({
            "name": run.name, "values": run.values, "result": result,
        })),
        "diverged": description.diverged(),
    }));
    say_table(console, &table(&runs, selects));
    match best {
        Some((run, result)) => {
            let validation = percent(accuracy(result).unwrap_or_default());
            let mut line = format!(
                "best by validation: {} · validation accuracy {}",
                run.name,
                validation.trim_start(),
            );
            if let Some(test) = result.test_accuracy {
                line += &format!(" · test accuracy {}", percent(test).trim_start());
            }
            console.say(console.green(line));
            console.say(list_of(&run.values));
        }
        None if description.diverged() == runs.len() => {
            console.say("no best run is selected: the loss of all runs was not finite");
        }
        None => console.say(
            "no best run is selected: the runs have no validation set, and the test set must not select; \
             hold out images with the setting `validation`",
        ),
    }
    console.say(format!("runs: {}", path_text(series.path())));
}

/// The runs with their values and accuracies; the test accuracy only where it cannot select.
fn table(runs: &[(&SeriesRun, &RunResult)], selects: bool) -> Table {
    let none = Map::new();
    let values: &Map<String, Value> = runs.first().map_or(&none, |(run, _)| &run.values);
    let keys: Vec<&str> = values.keys().map(String::as_str).collect();
    let accuracy = match selects {
        true => "validation",
        false => "test",
    };
    let head = [&["run"], &keys[..], &["epochs", accuracy, "time"]].concat();
    let columns: Vec<usize> = (1..head.len()).collect();
    let mut table = Table::new(&head).right(&columns);
    for (run, result) in runs {
        let value = match selects {
            true => result.validation_accuracy,
            false => result.test_accuracy,
        };
        let shown = match (&result.diverged, value) {
            (Some(_), _) => "diverged".to_string(),
            (None, Some(value)) => format!("{:.2} %", 100.0 * value),
            (None, None) => "–".to_string(),
        };
        let values = keys.iter().map(|key| text_of(&run.values[*key]));
        let cells = [run.name.clone()].into_iter().chain(values);
        table.row(cells.chain([result.epochs.to_string(), shown, duration(result.seconds)]));
    }
    table
}
