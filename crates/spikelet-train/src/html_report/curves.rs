//! Curves over epochs and steps: loss, metrics, learning rate, speed.

use super::layers::layer_value;
use super::steps::{over_steps, step_curves};
use super::{RunRecords, short};
use crate::checkpoint::EpochRecord;
use crate::metric::MetricValues;
use spikelet_report::report::html::{Panel, Series};
use std::collections::BTreeSet;

/// The largest number of metrics with a figure, besides the loss and the monitored one.
const MOST_METRICS: usize = 12;

/// The sets of an epoch, each with its color.
type Set = (&'static str, fn(&EpochRecord) -> Option<&MetricValues>);
const SETS: [Set; 3] = [
    ("training", |record| Some(&record.train)),
    ("test", |record| record.test.as_ref()),
    ("validation", |record| record.validation.as_ref()),
];

fn epoch_of(record: &EpochRecord) -> f64 {
    record.epoch as f64
}

/// The curves of a metric over the epochs, one for each set.
fn of_metric(run: &RunRecords<'_>, metric: &str) -> Vec<Series> {
    let each = SETS.iter().enumerate().map(|(k, (name, set))| Series {
        name: (*name).to_string(),
        color: Some(k),
        // Distinct without colors as well.
        dash: (k > 0).then_some(k),
        points: (run.history.iter())
            .filter_map(|record| Some((epoch_of(record), set(record)?.get(metric)?)))
            .collect(),
    });
    each.collect()
}

/// The metrics of a step that are not those of layers.
fn metrics_of(run: &RunRecords<'_>) -> Vec<String> {
    let sets = run
        .history
        .iter()
        .flat_map(|record| SETS.iter().filter_map(move |(_, set)| set(record)));
    let names: BTreeSet<&str> = sets
        .flat_map(|set| set.iter().map(|(name, _)| name))
        .collect();
    let own = names.into_iter().filter(|name| layer_value(name).is_none());
    let mut own: Vec<String> = own.map(String::from).collect();
    // The loss, then the monitored metric, then the others.
    own.sort_by_key(|name| (name != "loss", name != run.metric));
    own.truncate(2 + MOST_METRICS);
    own
}

fn title_of(metric: &str) -> String {
    let mut title = short(metric);
    if let Some(first) = title.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    title
}

/// Loss and metrics, learning rate, and speed.
pub(super) fn of_epochs(run: &RunRecords<'_>) -> Vec<Panel> {
    let base = || Panel {
        group: "training",
        xlabel: "epoch",
        sync: "epochs",
        ..Panel::default()
    };
    let mark = run.best().map(epoch_of);
    let mut panels: Vec<Panel> = metrics_of(run)
        .iter()
        .map(|metric| {
            let panel = Panel {
                id: format!("epoch-{metric}"),
                title: title_of(metric),
                percent: metric == "accuracy",
                can_log: metric == "loss",
                mark: mark.filter(|_| metric == run.metric),
                ..base()
            };
            panel.with(of_metric(run, metric))
        })
        .collect();
    panels.push(lr(run, base()));
    let speed = Series {
        name: "training".to_string(),
        points: (run.history.iter())
            .map(|record| (epoch_of(record), record.samples_per_second))
            .collect(),
        ..Series::default()
    };
    let panel = Panel {
        id: "epoch-speed".to_string(),
        title: "Speed".to_string(),
        unit: run.speed_unit,
        min: Some(0.0),
        ..base()
    };
    panels.push(panel.with([speed]));
    panels.retain(|panel| !panel.series.is_empty());
    panels
}

/// The number of points of the learning rate in short runs.
const RATE_POINTS: usize = 240;

/// The learning rate at the steps of the completed epochs, of the parameters that are in no group.
fn lr(run: &RunRecords<'_>, base: Panel) -> Panel {
    let done = run.history.len();
    let each = (RATE_POINTS / done.max(1)).clamp(1, 40);
    let (rate, schedule) = (run.settings.optimizer.lr(), &run.settings.schedule);
    let at = |k: usize| {
        let epoch = k as f64 / each as f64;
        let known = &run.plateau[..(k / each).min(run.plateau.len())];
        (
            epoch,
            rate * schedule.factor_with(epoch, run.settings.epochs as f64, known),
        )
    };
    let series = Series {
        name: "learning rate".to_string(),
        points: (0..done * each).map(at).collect(),
        ..Series::default()
    };
    let panel = Panel {
        id: "epoch-learning-rate".to_string(),
        title: "Learning rate".to_string(),
        can_log: true,
        min: Some(0.0),
        ..base
    };
    panel.with([series])
}

/// Loss and metrics of training batches.
pub(super) fn of_steps(run: &RunRecords<'_>) -> Vec<Panel> {
    let mut own: Vec<(&str, &Vec<(u64, f32)>)> = step_curves(run)
        .filter(|(name, _)| layer_value(name).is_none())
        .collect();
    own.sort_by_key(|(name, _)| (*name != "loss", *name != run.metric, *name));
    own.truncate(2 + MOST_METRICS);
    let panels = own.into_iter().map(|(name, curve)| {
        let panel = Panel {
            id: format!("step-{name}"),
            group: "steps",
            title: format!("{} of training batches", title_of(name)),
            xlabel: "step",
            sync: "steps",
            percent: name == "accuracy",
            can_log: name == "loss",
            ..Panel::default()
        };
        panel.with([Series {
            name: short(name),
            points: over_steps(curve),
            ..Series::default()
        }])
    });
    panels.filter(|panel| !panel.series.is_empty()).collect()
}
