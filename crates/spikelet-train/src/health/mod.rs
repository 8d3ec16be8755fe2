//! The health of a run in words: problems such as silent layers or vanishing gradients, with what to try.
//!
//! A run records [`Evidence`]: the results of its epochs, and [`Probe`]s, measurements of one training batch at the
//! start of the run and at the ends of epochs. [`findings`] looks for problems in it. A problem has consequences: behind
//! a layer that never fires all layers are silent, and the loss does not fall. Only the cause is reported.
//!
//! | finding | evidence |
//! |---|---|
//! | [`NotFinite`](FindingKind::NotFinite) | losses of epochs and probes, gradients and weights of probes |
//! | [`ConstantInput`](FindingKind::ConstantInput) | inputs of probes |
//! | [`ExplodingGradients`](FindingKind::ExplodingGradients) | gradients of probes |
//! | [`LearningRateTooHigh`](FindingKind::LearningRateTooHigh) | weights of probes; losses of epochs |
//! | [`DeadLayer`](FindingKind::DeadLayer), [`SaturatedLayer`](FindingKind::SaturatedLayer) | spikes of probes |
//! | [`VanishingGradients`](FindingKind::VanishingGradients), [`NoGradient`](FindingKind::NoGradient) | gradients of probes |
//! | [`WrongLabels`](FindingKind::WrongLabels), [`LossDoesNotFall`](FindingKind::LossDoesNotFall) | losses and accuracies of epochs, probes if there are any |
//! | [`Overfitting`](FindingKind::Overfitting) | losses and accuracies of epochs |
//!
//! A rule is one file in `rule/` and one line in `rule::ALL`.

mod evidence;
mod finding;
mod learning;
mod log;
mod rule;
mod words;

pub use crate::probe::{InputProbe, LayerProbe, ParameterProbe, Probe};
pub use evidence::{Evidence, RunFacts};
pub use finding::{Finding, FindingKind};
pub(crate) use log::{HealthLog, evidence};

/// The problems of a run; empty for a healthy one. The first cause is reported, not its consequences.
///
/// ```
/// use spikelet_train::health::{Evidence, FindingKind, LayerProbe, Probe, findings};
/// let silent = LayerProbe { name: "fc.2".to_string(), neurons: 128, rate: 0.0, dead: 1.0, ..LayerProbe::default() };
/// let probe = Probe { step: 100, epoch: 1, loss: 2.3, layers: vec![silent], ..Probe::default() };
/// let evidence = Evidence { probes: vec![probe], ..Evidence::default() };
/// let found = findings(&evidence);
/// assert_eq!(found[0].kind, FindingKind::DeadLayer);
/// assert_eq!(found[0].sentence, "No neuron of `fc.2` fires at the end of epoch 1 (0 of 128): nothing passes this layer.");
/// ```
pub fn findings(evidence: &Evidence) -> Vec<Finding> {
    let mut each = rule::ALL.iter().map(|rule| rule(evidence));
    each.find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
