//! A loss, gradient or weight that is NaN or infinite.

use super::super::learning::Set;
use super::super::words::{named, when};
use super::super::{Evidence, Finding, FindingKind};

const ADVICE: &str = "Lower the learning rate, clip the gradients (--clip-norm 1), or use a neuron whose potential \
cannot run away.";

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    let new =
        |epoch, sentence: String| Finding::new(FindingKind::NotFinite, epoch, sentence, ADVICE);
    for probe in &evidence.probes {
        let broken = |value: f64| !value.is_finite();
        let mut parameters = probe.parameters.iter();
        let found = parameters.find(|p| broken(p.gradient) || broken(p.norm));
        if let Some(parameter) = found {
            let part = match broken(parameter.norm) {
                true => "An element of",
                false => "The gradient of",
            };
            let sentence = format!(
                "{part} {} is not finite {}.",
                named(&parameter.name),
                when(probe)
            );
            return vec![new(probe.epoch, sentence).in_layer(parameter.layer())];
        }
        // A probe without weights has no loss.
        if broken(probe.loss) && !probe.parameters.is_empty() {
            let sentence = format!("The loss is {} {}.", probe.loss, when(probe));
            return vec![new(probe.epoch, sentence)];
        }
    }
    for record in &evidence.history {
        for set in [Set::Train, Set::Validation, Set::Test] {
            let Some(values) = set.of(record).filter(|values| !values.loss.is_finite()) else {
                continue;
            };
            let sentence = format!(
                "The {} loss is {} in epoch {}.",
                set.name(),
                values.loss,
                record.epoch
            );
            return vec![new(record.epoch, sentence)];
        }
    }
    vec![]
}
