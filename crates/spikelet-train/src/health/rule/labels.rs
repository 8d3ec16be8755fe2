//! Labels that do not belong to the inputs: the network learns the training samples by heart at best, and guesses others.

use super::super::learning::Set;
use super::super::words::percent;
use super::super::{Evidence, Finding, FindingKind};

/// The fewest updates: running statistics and rates need some time.
const FEWEST_STEPS: u64 = 200;
/// The fewest epochs.
const FEWEST_EPOCHS: usize = 3;
/// The same where nothing is learned at all: deep networks may need some time to begin.
const MORE_STEPS: u64 = 500;
const MORE_EPOCHS: usize = 5;
/// The growth of a weight, from which it has been trained.
const TRAINED: f64 = 0.01;

const ADVICE: &str = "Check that labels and samples are in the same order, and look at some of them; a network that \
cannot learn 100 samples by heart (--train-images 100 --validation 0) has wrong inputs.";

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    if evidence.history.len() < FEWEST_EPOCHS || evidence.steps() < FEWEST_STEPS {
        return vec![];
    }
    let (Some(set), Some(record)) = (evidence.held_out(), evidence.history.last()) else {
        return vec![];
    };
    if evidence.run.pretrained || evidence.only_guesses(set) != Some(true) {
        return vec![];
    }
    let last = |set| evidence.accuracies(set).last().copied();
    let (Some(trained), Some(other)) = (last(Set::Train), last(set)) else {
        return vec![];
    };
    let classes = evidence.run.classes.unwrap_or_default();
    let memorized = evidence.only_guesses(Set::Train) == Some(false);
    let late = evidence.history.len() >= MORE_EPOCHS && evidence.steps() >= MORE_STEPS;
    let sentence = match memorized {
        true => format!(
            "After epoch {} the accuracy is {} on the training set and {} on the {} set, that of guessing one of {classes} \
             classes: the network learns the training samples by heart.",
            record.epoch,
            percent(trained),
            percent(other),
            set.name(),
        ),
        // Nothing is learned: the labels are blamed only if everything that is measured is healthy.
        false if late && weights_moved(evidence) => format!(
            "After epoch {} the accuracy on the {} set is {}, that of guessing one of {classes} classes, although all \
             layers fire and get gradients.",
            record.epoch,
            set.name(),
            percent(other),
        ),
        false => return vec![],
    };
    vec![Finding::new(
        FindingKind::WrongLabels,
        record.epoch,
        sentence,
        ADVICE,
    )]
}

/// Whether the weights have changed visibly.
fn weights_moved(evidence: &Evidence) -> bool {
    let (Some(first), Some(last)) = (evidence.first_probe(), evidence.last_probe()) else {
        return false;
    };
    let mut pairs = first.parameters.iter().zip(&last.parameters);
    pairs.any(|(before, now)| (now.norm - before.norm).abs() > TRAINED * before.norm)
}
