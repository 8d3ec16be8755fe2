//! Gradients that grow from layer to layer.
//!
//! The elasticity of a weight is ‖g‖·‖w‖/loss: the relative change of the loss for a relative change of the weight. It
//! does not depend on the scales of loss and weights. Before the first update it is between 0.001 and 100 in networks
//! that train well.

use super::super::words::{figure, named};
use super::super::{Evidence, Finding, FindingKind, ParameterProbe};

/// The elasticity from which gradients explode.
const EXPLODES: f64 = 1e4;

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    let Some(probe) = evidence.first_probe() else {
        return vec![];
    };
    let loss = probe.loss.abs();
    if evidence.works() == Some(true) || !loss.is_finite() || loss == 0.0 {
        return vec![];
    }
    let elasticity = |p: &ParameterProbe| p.gradient * p.norm / loss;
    let each = probe.parameters.iter();
    let largest = each.max_by(|a, b| elasticity(a).total_cmp(&elasticity(b)));
    let explodes = |p: &&ParameterProbe| elasticity(p) >= EXPLODES || !elasticity(p).is_finite();
    let Some(largest) = largest.filter(explodes) else {
        return vec![];
    };
    let last = probe
        .parameters
        .last()
        .filter(|last| last.name != largest.name && last.gradient > 0.0);
    let compared = last.map(|last| {
        let ratio = figure(largest.gradient / last.gradient);
        format!(", {ratio} times that of {}", named(&last.name))
    });
    let sentence = format!(
        "The gradient of {} has the norm {} at the start of epoch {}, before the first update{}: gradients explode.",
        named(&largest.name),
        figure(largest.gradient),
        probe.epoch,
        compared.unwrap_or_default(),
    );
    let advice = "Clip the gradients (--clip-norm 1), start with smaller weights, use a surrogate with a smaller slope, or put batch \
                  norm before the neurons.";
    vec![
        Finding::new(
            FindingKind::ExplodingGradients,
            probe.epoch,
            sentence,
            advice,
        )
        .in_layer(largest.layer()),
    ]
}
