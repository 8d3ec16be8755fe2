//! Penalties on the spikes of layers, in the loss of training.

use super::error::StepError;
use super::groups::Names;
use super::outputs::Outputs;
use super::recorded::{SPIKES, layers_with};
use crate::metric::PENALTY;
use crate::penalty::Penalty;
use spikelet_core::Result;
use spikelet_graph::{DType, Var};
use spikelet_nn::module::Trace;

/// Adds the penalties to the loss of outputs, and their sum as the metric `penalty`.
pub(super) fn add(outputs: Outputs, penalties: &[Penalty], cx: &Trace) -> Result<Outputs> {
    let layers = layers_with(&cx.traced().recorded, SPIKES);
    let mut terms = vec![];
    for penalty in penalties {
        terms.extend(terms_of(penalty, &layers)?);
    }
    Ok(match terms.into_iter().reduce(|a, b| a + b) {
        Some(sum) => Outputs {
            loss: &outputs.loss + &sum,
            ..outputs.metric(PENALTY, sum)
        },
        None => outputs,
    })
}

/// The weighted penalty of each layer that matches, in f32: a square of many spikes has more digits than 16 bits.
fn terms_of(penalty: &Penalty, layers: &[(String, Var)]) -> Result<Vec<Var>, StepError> {
    let names = Names::new(&penalty.layers);
    let matching = layers.iter().filter(|(layer, _)| names.matches(layer));
    let terms =
        matching.map(|(_, spikes)| penalty.kind.of(&spikes.cast(DType::F32)) * penalty.weight);
    let terms: Vec<Var> = terms.collect();
    match terms.is_empty() {
        false => Ok(terms),
        true => Err(StepError::PenaltyLayers {
            penalty: penalty.kind.declaration().name,
            pattern: penalty.layers.clone(),
            layers: layers.iter().map(|(layer, _)| layer.clone()).collect(),
        }),
    }
}
