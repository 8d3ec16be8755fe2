//! Labels that do not belong to the inputs: the network learns the training samples by heart, and guesses others.
//!
//! An accuracy like that of guessing is no evidence by itself: the set may be too small, the signal weak, or the network
//! slow. With right labels the loss on other samples falls below that of guessing before it rises, however little is
//! learned; with wrong ones it does not.

use super::super::learning::{Set, trend};
use super::super::words::percent;
use super::super::{Evidence, Finding, FindingKind};

/// The fewest updates: running statistics and rates need some time.
const FEWEST_STEPS: u64 = 200;
/// The fewest epochs after the one with the smallest loss on other samples.
const EPOCHS_AFTER: usize = 3;
/// The number of standard deviations between a mean accuracy of several epochs and that of guessing.
const MEAN_DEVIATIONS: f64 = 2.0;
/// The probability of a loss below that of guessing by chance, in any of the epochs.
const CHANCE: f64 = 0.05;
/// The number of standard deviations of a trend of the loss.
const TREND_DEVIATIONS: f64 = 2.0;

const ADVICE: &str = "Check that labels and samples are in the same order, and look at some of them; a network that \
cannot learn 100 samples by heart (--train-images 100 --validation 0) has wrong inputs.";

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    let (Some(set), Some(record)) = (evidence.held_out(), evidence.history.last()) else {
        return vec![];
    };
    let memorizes = evidence.only_guesses(Set::Train) == Some(false);
    if evidence.run.pretrained || evidence.steps() < FEWEST_STEPS || !memorizes {
        return vec![];
    }
    if !guesses(evidence, set).unwrap_or(false) || generalizes(evidence, set) {
        return vec![];
    }
    let last = |set| evidence.accuracies(set).last().copied();
    let (Some(trained), Some(other)) = (last(Set::Train), last(set)) else {
        return vec![];
    };
    let sentence = format!(
        "After epoch {} the accuracy is {} on the training set and {} on the {} set, that of guessing one of {} \
         classes: the network learns the training samples by heart.",
        record.epoch,
        percent(trained),
        percent(other),
        set.name(),
        evidence.run.classes.unwrap_or_default(),
    );
    vec![Finding::new(
        FindingKind::WrongLabels,
        record.epoch,
        sentence,
        ADVICE,
    )]
}

/// Whether the accuracies on a set are those of guessing: the best one, and the mean over the second half of the epochs.
fn guesses(evidence: &Evidence, set: Set) -> Option<bool> {
    let accuracies = evidence.accuracies(set);
    let late = &accuracies[accuracies.len() / 2..];
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let of_guessing =
        evidence.guessing()? + MEAN_DEVIATIONS * evidence.deviation_of_guessing(set)?;
    Some(evidence.only_guesses(set)? && mean <= of_guessing)
}

/// Whether the loss on a set fell below that of guessing, or may still fall.
fn generalizes(evidence: &Evidence, set: Set) -> bool {
    let losses = evidence.losses(set);
    let indices = 0..losses.len();
    let Some(best) = indices.min_by(|a, b| losses[*a].total_cmp(&losses[*b])) else {
        return false;
    };
    let may_fall = best + EPOCHS_AFTER >= losses.len();
    let of_guessing = evidence.run.guessing_loss;
    let below = of_guessing.is_none_or(|guessing| losses[best] < guessing);
    let falls = below && trend(&losses[..=best]) <= -TREND_DEVIATIONS;
    may_fall || falls || is_likely(evidence, set, &losses).unwrap_or(false)
}

/// Whether a cross entropy is below that of guessing by more than chance. If the labels do not depend on the samples, the
/// ratio of the likelihoods of the network and of guessing has the mean 1, so that it is above 1/p with a probability
/// of at most p (Markov's inequality).
fn is_likely(evidence: &Evidence, set: Set, losses: &[f64]) -> Option<bool> {
    let of_cross_entropy = -evidence.guessing()?.ln();
    let of_guessing = evidence.run.guessing_loss?;
    let least = losses.iter().copied().reduce(f64::min)?;
    let samples = evidence.samples(set) as f64;
    let limit = (losses.len() as f64 / CHANCE).ln();
    let is_cross_entropy = (of_guessing - of_cross_entropy).abs() < 1e-9;
    Some(is_cross_entropy && samples * (of_guessing - least) > limit)
}
