//! The headline: status, accuracy, time, device.

use super::{End, RunRecords};
use crate::metric::MetricValues;
use spikelet_core::human::{bytes, duration, percent, thousands};
use spikelet_report::report::html::Tile;

/// A value of a metric as text.
fn shown(metric: &str, value: f64) -> String {
    match metric {
        "accuracy" => percent(value).trim_start().to_string(),
        _ => format!("{value:.4}"),
    }
}

pub(super) fn subtitle(run: &RunRecords<'_>) -> String {
    let steps = run.time_steps.map(|steps| format!("{steps} time steps"));
    let ranks = (run.ranks > 1).then(|| format!("{} ranks", run.ranks));
    let parts = [Some(run.device.to_string()), ranks, steps];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

pub(super) fn message(run: &RunRecords<'_>) -> Option<String> {
    let epochs = run.history.len();
    match run.end {
        End::Interrupted => Some(format!(
            "The run was interrupted after {epochs} of {} epochs. Resume it with: spikelet train --resume {}",
            run.settings.epochs, run.folder
        )),
        End::Failed(error) => Some(super::cut(error, 2000)),
        End::Finished | End::StoppedEarly => None,
    }
}

/// The most important results, of the sets that the run has.
pub(super) fn tiles(run: &RunRecords<'_>) -> Vec<Tile> {
    let metric = run.metric;
    let mut tiles = vec![];
    let mut tile = |name: String, value: String, note: String| {
        tiles.push(Tile { name, value, note });
    };
    let of = |set: Option<&MetricValues>| set?.get(metric).filter(|value| value.is_finite());
    if let Some(last) = run.history.last() {
        let sets = [
            ("Test", last.test.as_ref()),
            ("Validation", last.validation.as_ref()),
            ("Training", Some(&last.train)),
        ];
        let found = sets
            .into_iter()
            .find_map(|(name, set)| Some((name, of(set)?)));
        if let Some((set, value)) = found {
            tile(
                format!("{set} {}", super::short(metric)),
                shown(metric, value),
                "after the last epoch".to_string(),
            );
        }
        if let Some(best) = run.best()
            && let Some(value) = of(best.validation.as_ref())
        {
            let test = of(best.test.as_ref()).map(|test| format!(", test {}", shown(metric, test)));
            tile(
                format!("Best validation {}", super::short(metric)),
                shown(metric, value),
                format!("epoch {}{}", best.epoch, test.unwrap_or_default()),
            );
        }
        if metric != "loss" {
            tile(
                "Training loss".to_string(),
                format!("{:.4}", last.train.loss),
                "last epoch".to_string(),
            );
        }
    }
    let done = run.history.len();
    let epochs = match done == run.settings.epochs {
        true => done.to_string(),
        false => format!("{done} of {}", run.settings.epochs),
    };
    let steps = run
        .scalars
        .get("epoch/train_loss")
        .and_then(|curve| curve.last());
    let steps = steps.map(|(step, _)| format!("{} steps", thousands(*step)));
    tile("Epochs".to_string(), epochs, steps.unwrap_or_default());
    let each = run.history.iter().map(|record| record.seconds).sum::<f64>() / done.max(1) as f64;
    let each = match done {
        0 => String::new(),
        _ => format!("{} each", duration(each)),
    };
    tile("Time".to_string(), duration(run.seconds), each);
    if done > 0 {
        tile(
            "Speed".to_string(),
            format!(
                "{} {}",
                thousands(run.samples_per_second as u64),
                run.speed_unit
            ),
            "training, mean".to_string(),
        );
    }
    tile(
        "Memory".to_string(),
        bytes(run.memory.peak as u64),
        "peak on the device".to_string(),
    );
    tile("Device".to_string(), run.device.to_string(), String::new());
    tiles
}
