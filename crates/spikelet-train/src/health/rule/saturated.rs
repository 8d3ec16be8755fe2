//! A layer whose spikes are the same for every input: its neurons fire at every time step, or some always and the others
//! never.

use super::super::words::{named, percent, when};
use super::super::{Evidence, Finding, FindingKind};

/// The fraction of neurons that fire at every time step of every sample.
const SATURATED: f64 = 0.9;
/// The fraction of neurons that always or never fire, in a network that does not work.
const FIXED: f64 = 0.98;
/// The fraction of those that always fire.
const SOME: f64 = 0.1;

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    let Some(probe) = evidence.late_probe() else {
        return vec![];
    };
    let works = evidence.works() == Some(true);
    let sick = probe.layers.iter().find(|layer| {
        let fixed = layer.saturated >= SOME && layer.saturated + layer.dead >= FIXED;
        !layer.graded && (layer.saturated >= SATURATED || fixed && !works)
    });
    let Some(layer) = sick else {
        return vec![];
    };
    let (name, always) = (named(&layer.name), percent(layer.saturated));
    let sentence = match layer.saturated >= SATURATED {
        true => format!(
            "{always} of the {} neurons of {name} fire at every time step of every sample {}: their spikes carry no \
             information.",
            layer.neurons,
            when(probe),
        ),
        false => format!(
            "Of the {} neurons of {name}, {always} fire at every time step of every sample and {} never {}: the spikes do \
             not depend on the input.",
            layer.neurons,
            percent(layer.dead),
            when(probe),
        ),
    };
    let advice = "Raise its threshold (--set v_threshold=2), start with smaller weights, normalize the inputs, or put batch norm \
                  before it.";
    vec![
        Finding::new(FindingKind::SaturatedLayer, probe.epoch, sentence, advice)
            .in_layer(&layer.name),
    ]
}
