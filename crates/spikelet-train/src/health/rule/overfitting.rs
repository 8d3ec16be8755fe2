//! Training samples are learned by heart: their loss falls while the loss and the accuracy on other samples become worse.

use super::super::learning::Set;
use super::super::words::{figure, percent};
use super::super::{Evidence, Finding, FindingKind};

/// The fewest epochs after the best one.
const EPOCHS_AFTER: usize = 3;
/// The loss, as a multiple of its best value.
const RISE: f64 = 1.3;
/// The accuracy below the best one.
const DROP: f64 = 0.02;
/// The accuracy below that of the training set.
const GAP: f64 = 0.1;

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    // A test set selects nothing: the validation set is judged if there is one.
    let validated = evidence
        .history
        .last()
        .is_some_and(|record| record.validation.is_some());
    let set = match validated {
        true => Set::Validation,
        false => Set::Test,
    };
    let losses = evidence
        .history
        .iter()
        .filter_map(|record| Some((record, set.of(record)?)));
    let losses: Vec<_> = losses
        .filter(|(_, values)| values.loss.is_finite())
        .collect();
    let best = losses.iter().min_by(|a, b| a.1.loss.total_cmp(&b.1.loss));
    let (Some((best, least)), Some((last, now))) = (best, losses.last()) else {
        return vec![];
    };
    let late = last.epoch >= best.epoch + EPOCHS_AFTER;
    let falls = last.train.loss < best.train.loss;
    let risen = least.loss > 0.0 && now.loss > RISE * least.loss;
    let accuracies = evidence.accuracies(set);
    let highest = accuracies.iter().copied().reduce(f64::max);
    let worse = match (highest, accuracies.last(), last.train.get("accuracy")) {
        (Some(highest), Some(now), Some(trained)) => now + DROP < highest && now + GAP < trained,
        _ => true,
    };
    if !(late && falls && risen && worse) {
        return vec![];
    }
    let accuracy = match (highest, accuracies.last()) {
        (Some(highest), Some(now)) => {
            format!(
                ", the accuracy is {} and was {}",
                percent(*now),
                percent(highest)
            )
        }
        _ => String::new(),
    };
    let sentence = format!(
        "The {} loss is {} in epoch {}, and was {} in epoch {}, while the training loss fell from {} to {}{accuracy}.",
        set.name(),
        figure(now.loss),
        last.epoch,
        figure(least.loss),
        best.epoch,
        figure(best.train.loss),
        figure(last.train.loss),
    );
    let advice = "Train on more samples or augment them (--augment), use weight decay or dropout, or stop early \
                  (Trainer::early_stopping).";
    vec![Finding::new(
        FindingKind::Overfitting,
        last.epoch,
        sentence,
        advice,
    )]
}
