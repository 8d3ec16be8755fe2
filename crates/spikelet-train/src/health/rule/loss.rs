//! A loss that does not fall, for no reason that is measured.

use super::super::words::figure;
use super::super::{Evidence, Finding, FindingKind};

/// The fewest updates.
const FEWEST_STEPS: u64 = 500;
/// The fewest epochs.
const FEWEST_EPOCHS: usize = 5;
/// The relative fall of a loss.
const FALL: f64 = 0.01;

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    if evidence.history.len() < FEWEST_EPOCHS
        || evidence.steps() < FEWEST_STEPS
        || evidence.works() != Some(false)
    {
        return vec![];
    }
    let (Some(first), Some(record)) = (evidence.first_loss(), evidence.history.last()) else {
        return vec![];
    };
    let last = record.train.loss;
    if last < first - FALL * first.abs() {
        return vec![];
    }
    let sentence = format!(
        "The training loss is {} in epoch {}, and was {} at the start: it does not fall.",
        figure(last),
        record.epoch,
        figure(first),
    );
    let advice = "Try learning rates 10 times larger and smaller (--lr), look at some samples with their labels, and \
                  measure the layers with --monitor all.";
    vec![Finding::new(
        FindingKind::LossDoesNotFall,
        record.epoch,
        sentence,
        advice,
    )]
}
