//! The report of a run as a picture.

use super::checkpoint::EpochRecord;
use super::trainer::{FitReport, Trainer};
use crate::metric::MetricValues;
use spikelet_core::human::percent;
use spikelet_report::report::{EpochPoint, Example, Report};

/// The report of a run on the data set `dataset`.
pub(super) fn report(
    trainer: &Trainer<'_>,
    dataset: &str,
    device: &str,
    (examples, classes): (&[Example], Vec<String>),
    outcome: &FitReport,
) -> Report {
    let metric = outcome.last().map_or("loss", |last| last.monitor.as_str());
    let shown = |value: f64| show(metric, value);
    let of_last = |set: &str, values: Option<&MetricValues>| {
        let value = values?.get(metric)?;
        Some(format!("{set} {metric} {}", shown(value)))
    };
    let last = outcome.last().and_then(|last| {
        of_last("test", last.test.as_ref())
            .or_else(|| of_last("validation", last.validation.as_ref()))
            .or_else(|| of_last("training", Some(&last.train)))
    });
    let steps = trainer.time_steps();
    let steps = steps.map(|steps| format!("{steps} time steps"));
    let best = outcome.best().map(|best| {
        let test = of_last("test", best.test.as_ref());
        let text = test.or_else(|| of_last("validation", best.validation.as_ref()));
        let text = text.unwrap_or_default();
        format!("; best by validation: epoch {}, {text}", best.epoch)
    });
    let parts = [Some(device.to_string()), steps, last];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let point = |r: &EpochRecord| {
        let value = |set: Option<&MetricValues>| set?.get(metric);
        EpochPoint {
            epoch: r.epoch,
            train_loss: r.train.loss,
            test_loss: r.test.as_ref().map(|test| test.loss),
            validation_loss: r.validation.as_ref().map(|validation| validation.loss),
            train: value(Some(&r.train)),
            validation: value(r.validation.as_ref()),
            test: value(r.test.as_ref()),
        }
    };
    Report {
        title: format!("{} on {dataset}", trainer.name()),
        subtitle: format!("{}{}", parts.join(" · "), best.unwrap_or_default()),
        metric: metric.to_string(),
        goal: outcome.goal,
        epochs: outcome.history.iter().map(point).collect(),
        examples: examples.to_vec(),
        classes,
    }
}

/// The value of a metric as text: an accuracy in percent.
fn show(metric: &str, value: f64) -> String {
    match metric {
        "accuracy" => percent(value),
        _ => format!("{value:.4}"),
    }
}
