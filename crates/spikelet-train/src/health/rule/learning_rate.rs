//! Updates that are too large: the weights lose their initial scale at once, or the loss rises above the first one.

use super::super::words::{figure, named, when};
use super::super::{Evidence, Finding, FindingKind, ParameterProbe, Probe};

/// The growth of a weight's norm.
const GROWTH: f64 = 20.0;
/// The norm of a weight's row, from which it has lost its scale: about 1 in most networks that train well.
const GAIN: f64 = 10.0;
/// The number of steps after which a large weight may have been learned.
const EARLY: u64 = 2000;
/// The loss, as a multiple of the first one.
const RISE: f64 = 1.5;

const ADVICE: &str = "Lower the learning rate: by a factor of 10 or 100, or to 0.001 if it is above 0.1 (--lr 0.001); or clip the gradients \
(--clip-norm 1).";

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    // SpikingFlow's network has a gain of 30 after a few epochs, and works.
    if evidence.works() == Some(true) || evidence.late_probe().is_none() {
        return vec![];
    }
    let grown = evidence.first_probe().and_then(|first| {
        let mut later = evidence.probes.iter().skip(1).enumerate();
        let mut early = later
            .by_ref()
            .take_while(|(k, probe)| *k == 0 || probe.step <= EARLY);
        early.find_map(|(_, probe)| grown(first, probe))
    });
    match grown {
        Some(found) => vec![found],
        None => risen(evidence).into_iter().collect(),
    }
}

/// A weight that is many times larger than before the first update.
fn grown(first: &Probe, probe: &Probe) -> Option<Finding> {
    let growth = |now: &ParameterProbe| {
        let mut before = first.parameters.iter();
        let before = before.find(|before| before.name == now.name)?.norm;
        (before > 0.0).then(|| now.norm / before)
    };
    let each = probe.parameters.iter().filter(|now| now.gain() >= GAIN);
    let each = each.filter_map(|now| Some((now, growth(now)?)));
    let (now, growth) = each
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, growth)| *growth >= GROWTH)?;
    let sentence = format!(
        "The norm of {} is {} times its initial value {}: the updates are larger than the weights.",
        named(&now.name),
        figure(growth),
        when(probe),
    );
    Some(
        Finding::new(
            FindingKind::LearningRateTooHigh,
            probe.epoch,
            sentence,
            ADVICE,
        )
        .in_layer(now.layer()),
    )
}

/// A loss that is larger in the last epoch than before the first update.
fn risen(evidence: &Evidence) -> Option<Finding> {
    let first = evidence.first_probe()?.loss;
    let record = evidence.history.last()?;
    let last = record.train.loss;
    (first > 0.0 && last > RISE * first).then(|| {
        let sentence = format!(
            "The training loss is {} in epoch {}, and was {} before the first update: the updates increase it.",
            figure(last),
            record.epoch,
            figure(first),
        );
        Finding::new(FindingKind::LearningRateTooHigh, record.epoch, sentence, ADVICE)
    })
}
