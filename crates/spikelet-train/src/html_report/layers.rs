//! The values of layers that monitors measured, over epochs and steps.

use super::steps::{over_steps, step_curves};
use super::{RunRecords, short};
use crate::checkpoint::EpochRecord;
use crate::metric::MetricValues;
use crate::test_pass::LayerPass;
use spikelet_core::human::thousands;
use spikelet_report::report::html::{LayerRow, Panel, Series, rounded};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// A value of layers or of parameters.
struct Quantity {
    /// The end of the metric's name.
    key: &'static str,
    title: &'static str,
    percent: bool,
    log: bool,
    min: Option<f64>,
}

const fn quantity(key: &'static str, title: &'static str) -> Quantity {
    Quantity {
        key,
        title,
        percent: false,
        log: false,
        min: None,
    }
}

const QUANTITIES: [Quantity; 8] = [
    Quantity {
        percent: true,
        min: Some(0.0),
        ..quantity("rate", "Firing rate (neurons that fire at a time step)")
    },
    Quantity {
        percent: true,
        min: Some(0.0),
        ..quantity("dead", "Neurons that never fire")
    },
    Quantity {
        percent: true,
        min: Some(0.0),
        ..quantity("saturated", "Neurons that always fire")
    },
    quantity("potential", "Mean membrane potential"),
    quantity(
        "potential_std",
        "Standard deviation of the membrane potential",
    ),
    Quantity {
        min: Some(0.0),
        ..quantity("distance", "Mean distance to the threshold")
    },
    Quantity {
        min: Some(0.0),
        ..quantity(OPERATIONS, "Synaptic operations of a sample")
    },
    Quantity {
        log: true,
        ..quantity("gradient", "Gradient norm")
    },
];

/// The value of layers with weights; the others are those of neurons and of parameters.
const OPERATIONS: &str = "synaptic_operations";

/// The layer or parameter and the value of a monitor's metric, such as `fc.2` and `rate`.
pub(super) fn layer_value(name: &str) -> Option<(&str, &str)> {
    let (layer, value) = name.rsplit_once('.').unwrap_or(("", name));
    QUANTITIES
        .iter()
        .any(|quantity| quantity.key == value)
        .then_some((layer, value))
}

/// The layer of a metric that the table of neurons shows.
fn layer_of_neurons(name: &str) -> Option<&str> {
    let (layer, value) = layer_value(name)?;
    (value != OPERATIONS).then_some(layer)
}

/// Names in the order of their numbers: `conv.2` before `conv.10`.
fn natural(a: &str, b: &str) -> Ordering {
    let key = |name: &str| -> Vec<(u64, String)> {
        let part = |part: &str| (part.parse().unwrap_or(u64::MAX), part.to_string());
        name.split('.').map(part).collect()
    };
    key(a).cmp(&key(b))
}

/// The set whose values are shown: the validation set, or else the test set.
fn evaluated(record: &EpochRecord) -> Option<&MetricValues> {
    record.validation.as_ref().or(record.test.as_ref())
}

fn set_name(run: &RunRecords<'_>) -> &'static str {
    match run.history.iter().any(|record| record.validation.is_some()) {
        true => "validation set",
        false => "test set",
    }
}

/// The points of a quantity by layer.
type Curves = BTreeMap<String, Vec<(f64, f64)>>;

/// The points over the epochs: of gradients in training, of others in evaluations.
fn over_epochs(run: &RunRecords<'_>, key: &str) -> Curves {
    let mut curves = Curves::new();
    for record in run.history {
        let set = match key {
            "gradient" => Some(&record.train),
            _ => evaluated(record),
        };
        for (name, value) in set.into_iter().flat_map(MetricValues::iter) {
            if let Some((layer, own)) = layer_value(name)
                && own == key
            {
                let curve = curves.entry(layer.to_string()).or_default();
                curve.push((record.epoch as f64, value));
            }
        }
    }
    curves
}

/// The points over the steps, of training batches.
fn of_batches(run: &RunRecords<'_>, key: &str) -> Curves {
    let own = step_curves(run).filter_map(|(name, curve)| {
        let (layer, value) = layer_value(name)?;
        (value == key).then(|| (layer.to_string(), over_steps(curve)))
    });
    own.collect()
}

fn panel_of(panel: Panel, curves: Curves) -> Panel {
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = curves.into_iter().collect();
    curves.sort_by(|a, b| natural(&a.0, &b.0));
    panel.with(curves.into_iter().map(|(layer, points)| Series {
        name: match layer.as_str() {
            "" => "network".to_string(),
            layer => short(layer),
        },
        points,
        ..Series::default()
    }))
}

/// The figures of layers.
pub(super) fn panels(run: &RunRecords<'_>) -> Vec<Panel> {
    let set = set_name(run);
    let mut panels = vec![];
    for quantity in &QUANTITIES {
        let Quantity {
            key,
            title,
            percent,
            log,
            min,
        } = *quantity;
        let base = || Panel {
            group: "layers",
            percent,
            log,
            can_log: log,
            min,
            ..Panel::default()
        };
        let measured = match key {
            "gradient" => "in training, before clipping".to_string(),
            _ => format!("on the {set}"),
        };
        let epochs = Panel {
            id: format!("layers-{key}"),
            title: format!("{title}, {measured}"),
            xlabel: "epoch",
            sync: "epochs",
            ..base()
        };
        let steps = Panel {
            id: format!("layer-steps-{key}"),
            title: format!("{title}, training batches"),
            xlabel: "step",
            sync: "steps",
            ..base()
        };
        panels.push(panel_of(epochs, over_epochs(run, key)));
        panels.push(panel_of(steps, of_batches(run, key)));
    }
    panels.retain(|panel| !panel.series.is_empty());
    panels
}

/// The table of layers: values after the last epoch. Rates of the forward pass for the report take the place of
/// monitored ones.
pub(super) fn rows(run: &RunRecords<'_>, observed: &[LayerPass]) -> Vec<LayerRow> {
    let last = run.history.last().and_then(evaluated);
    let value = |layer: &str, key: &str| {
        let name = match layer {
            "" => key.to_string(),
            layer => format!("{layer}.{key}"),
        };
        last?.get(&name).and_then(rounded)
    };
    let of_monitors = |name: &str| LayerRow {
        name: short(name),
        shape: None,
        rate: value(name, "rate"),
        dead: value(name, "dead"),
        saturated: value(name, "saturated"),
        potential: value(name, "potential"),
        potential_std: value(name, "potential_std"),
        distance: value(name, "distance"),
    };
    if !observed.is_empty() {
        let rows = observed.iter().map(|pass| {
            let own = of_monitors(&pass.layer.name);
            LayerRow {
                shape: Some(pass.layer.shape.clone()),
                rate: pass.rate.and_then(rounded).or(own.rate),
                ..own
            }
        });
        return rows.collect();
    }
    let names = last.into_iter().flat_map(MetricValues::iter);
    let layers: BTreeSet<&str> = names
        .filter_map(|(name, _)| layer_of_neurons(name))
        .collect();
    let mut layers: Vec<&str> = layers.into_iter().collect();
    layers.sort_by(|a, b| natural(a, b));
    layers.into_iter().map(of_monitors).collect()
}

/// The data of the table.
pub(super) fn note(run: &RunRecords<'_>) -> String {
    let set = set_name(run);
    match run.tested {
        Some((_, pass)) if pass.layers.iter().any(|layer| layer.rate.is_some()) => {
            let monitored = run.history.last().and_then(evaluated);
            let others = monitored
                .is_some_and(|set| set.iter().any(|(name, _)| layer_of_neurons(name).is_some()));
            let others = match others {
                true => format!(" Other values are those of the {set}."),
                false => String::new(),
            };
            format!(
                "After the last epoch. A row is named by its neurons; spikelet energy names the layer with weights before \
                 them. Firing rates are the neurons that fire at a time step, on {} test samples.{others}",
                thousands(pass.tested as u64)
            )
        }
        _ => format!("After the last epoch, on the {set}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_by_their_numbers() {
        let mut names = vec!["conv.10", "fc.1", "conv.2", "conv", ""];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["", "conv", "conv.2", "conv.10", "fc.1"]);
    }

    #[test]
    fn metrics_of_monitors_are_recognized() {
        assert_eq!(layer_value("fc.2.rate"), Some(("fc.2", "rate")));
        assert_eq!(
            layer_value("fc.1.weight.gradient"),
            Some(("fc.1.weight", "gradient"))
        );
        assert_eq!(layer_value("dead"), Some(("", "dead")));
        let operations = "fc.1.synaptic_operations";
        assert_eq!(layer_value(operations), Some(("fc.1", OPERATIONS)));
        assert_eq!(layer_of_neurons(operations), None);
        assert_eq!(layer_of_neurons("fc.2.rate"), Some("fc.2"));
        assert_eq!(layer_value("accuracy"), None);
        assert_eq!(layer_value("top_5.k"), None);
    }
}
