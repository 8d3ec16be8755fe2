//! A layer that never fires. The layers behind it are silent for this reason.

use super::super::words::{named, when};
use super::super::{Evidence, Finding, FindingKind, LayerProbe};

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    // A silent branch beside a connection that skips it does not stop a network.
    if evidence.works() == Some(true) {
        return vec![];
    }
    let [earlier @ .., probe] = evidence.probes_of_silence() else {
        return vec![];
    };
    let silent = |layer: &LayerProbe| layer.rate == 0.0 && layer.neurons > 0;
    let was_silent = |layer: &LayerProbe| {
        earlier.iter().all(|probe| {
            let mut layers = probe.layers.iter();
            layers.any(|other| other.name == layer.name && silent(other))
        })
    };
    // Layers of a new network begin to fire one after another.
    let begins = |layer: &LayerProbe| !silent(layer) && was_silent(layer);
    if !earlier.is_empty() && probe.layers.iter().any(begins) {
        return vec![];
    }
    let mut layers = probe.layers.iter();
    let Some(layer) = layers.find(|layer| silent(layer) && was_silent(layer)) else {
        return vec![];
    };
    let sentence = format!(
        "No neuron of {} fires {} (0 of {}): nothing passes this layer.",
        named(&layer.name),
        when(probe),
        layer.neurons,
    );
    let advice = "Lower its threshold (--set v_threshold=0.5), start with larger weights, put batch norm before it, or use a \
                  neuron that does not divide its input by tau (decay_input: false).";
    vec![Finding::new(FindingKind::DeadLayer, probe.epoch, sentence, advice).in_layer(&layer.name)]
}
