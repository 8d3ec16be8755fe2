//! Gradients that shrink from the last layer to the first.
//!
//! Compared are elasticities ‖g‖·‖w‖, which do not depend on the scales of the weights.

use super::super::words::{figure, named};
use super::super::{Evidence, Finding, FindingKind, ParameterProbe, Probe};

/// The elasticity of the first weight, as a fraction of the largest one: in networks that do not work, and in others,
/// whose last layers learn alone. It is above 0.01 in networks that train well.
const VANISHES: [f64; 2] = [1e-4, 1e-6];

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    let limit = VANISHES[usize::from(evidence.works() == Some(true))];
    let Some(last) = evidence.late_probe() else {
        return vec![];
    };
    // A measurement of one batch may be an exception.
    let mut earlier = evidence.probes.iter().rev().skip(1);
    let before = earlier.next();
    if before.is_some_and(|before| vanished(before, limit).is_none()) {
        return vec![];
    }
    let Some((first, largest)) = vanished(last, limit) else {
        return vec![];
    };
    let sentence = format!(
        "The gradient of {} has the norm {} at the end of epoch {}, {} of that of {}: gradients vanish on the way to the \
         first layers.",
        named(&first.name),
        figure(first.gradient),
        last.epoch,
        figure(first.gradient / largest.gradient),
        named(&largest.name),
    );
    let advice = "Use a wider surrogate (--surrogate atan, or a smaller alpha), put batch norm before the neurons, add residual \
                  connections, or take fewer layers.";
    vec![
        Finding::new(
            FindingKind::VanishingGradients,
            last.epoch,
            sentence,
            advice,
        )
        .in_layer(first.layer()),
    ]
}

/// The first weight and the one with the largest elasticity, if the first has nearly none.
fn vanished(probe: &Probe, limit: f64) -> Option<(&ParameterProbe, &ParameterProbe)> {
    let elasticity = |p: &ParameterProbe| p.gradient * p.norm;
    let first = probe.parameters.first()?;
    let largest = probe
        .parameters
        .iter()
        .max_by(|a, b| elasticity(a).total_cmp(&elasticity(b)))?;
    (elasticity(first) < limit * elasticity(largest)).then_some((first, largest))
}
