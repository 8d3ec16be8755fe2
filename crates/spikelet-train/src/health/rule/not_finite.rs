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
            let (name, when) = (named(&parameter.name), when(probe));
            let of_gradient = !broken(parameter.norm);
            let (part, value) = match of_gradient {
                true => ("The gradient of", parameter.gradient),
                false => ("The weight", parameter.norm),
            };
            let sentence = match value.is_nan() {
                true => format!("{part} {name} has elements that are not numbers {when}."),
                // Norms are sums of squares in 32 bits, which overflow before the elements do.
                false => format!("{part} {name} has a norm above 1.8e19 {when}: it has run away."),
            };
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
