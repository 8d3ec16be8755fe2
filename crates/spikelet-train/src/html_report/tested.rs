//! The confusion matrix and the worst examples.

use super::RunRecords;
use super::activity::sample;
use crate::Loss;
use crate::metric::recognized;
use crate::report::html::{Confusion, Sample, Worst, rounded};
use crate::sequence_pass::{SequencePass, predicted};
use crate::test_pass::TestPass;
use spikelet_data::ImageDataset;
use std::collections::BTreeMap;

/// The largest number of classes with a matrix.
const MOST_CLASSES: usize = 200;
/// The number of images with the highest loss, and of the most frequent errors.
const WORST: usize = 24;
const PAIRS: usize = 12;

/// The loss of an image, from its scores.
fn loss_of(loss: Loss, smoothing: f64, scores: &[f64], label: usize) -> f64 {
    let classes = scores.len() as f64;
    match loss {
        Loss::Mse => {
            let target = |k: usize| f64::from(u8::from(k == label));
            let squares = scores
                .iter()
                .enumerate()
                .map(|(k, score)| (score - target(k)).powi(2));
            squares.sum::<f64>() / classes
        }
        _ => {
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
            let log = |k: usize| scores[k] - largest - sum.ln();
            let mean = (0..scores.len()).map(log).sum::<f64>() / classes;
            -(1.0 - smoothing) * log(label) - smoothing * mean
        }
    }
}

/// The confusion matrix and the images with the highest loss.
pub(super) fn quality(
    run: &RunRecords<'_>,
    test: &ImageDataset,
    pass: &TestPass,
) -> (Option<Confusion>, Option<Worst>) {
    let Some(settings) = run.settings.filter(|_| !pass.scores.is_empty()) else {
        return (None, None);
    };
    let classes = test.classes.len();
    let mut pairs: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    let mut losses = vec![];
    for (index, scores) in pass.scores.iter().enumerate() {
        let Some(label) = test.labels.get(index).map(|&label| label as usize) else {
            continue;
        };
        if label >= scores.len().max(classes) || label >= scores.len() {
            continue;
        }
        *pairs.entry((label, predicted(scores))).or_default() += 1;
        losses.push((
            index,
            loss_of(settings.loss, settings.label_smoothing, scores, label),
        ));
    }
    let confusion = Confusion {
        samples: pass.scores.len(),
        of: test.len(),
        unit: "test images",
        counted: "images",
        silent: (pass.scores.iter())
            .filter(|scores| recognized(scores).is_none())
            .count(),
        ..confusion(&pairs, classes)
    };
    (
        Some(confusion),
        Some(worst(settings.loss, test, pass, losses)),
    )
}

/// The confusion matrix of a classifier of sequences.
pub(super) fn of_sequences(pass: &SequencePass) -> Confusion {
    Confusion {
        samples: pass.samples,
        of: pass.of,
        unit: "test sequences",
        counted: if pass.steps {
            "labeled time steps"
        } else {
            "sequences"
        },
        ..confusion(&pass.counts, pass.classes.len())
    }
}

/// The matrix and the most frequent errors of counts by label and prediction.
fn confusion(pairs: &BTreeMap<(usize, usize), u32>, classes: usize) -> Confusion {
    let counts = (classes <= MOST_CLASSES).then(|| {
        let count = |label, predicted| pairs.get(&(label, predicted)).copied().unwrap_or(0);
        (0..classes)
            .map(|label| {
                (0..classes)
                    .map(|predicted| count(label, predicted))
                    .collect()
            })
            .collect()
    });
    let mut errors: Vec<(usize, usize, u32)> = (pairs.iter())
        .filter(|((label, predicted), _)| label != predicted)
        .map(|((label, predicted), count)| (*label, *predicted, *count))
        .collect();
    errors.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    errors.truncate(PAIRS);
    Confusion {
        counts,
        pairs: errors,
        ..Confusion::default()
    }
}

fn worst(loss: Loss, test: &ImageDataset, pass: &TestPass, mut losses: Vec<(usize, f64)>) -> Worst {
    losses.sort_by(|a, b| b.1.total_cmp(&a.1));
    let images = losses.iter().take(WORST).map(|&(index, value)| Sample {
        loss: rounded(value),
        ..sample(test, index, &pass.scores[index])
    });
    let loss = match loss {
        Loss::Mse => "the mean squared error of the scores",
        Loss::CrossEntropy => "the cross entropy of the scores",
        _ => "the cross entropy of the mean scores",
    };
    Worst {
        note: format!(
            "The test images with the highest loss ({loss}): true class, prediction, loss. Labels of such images may be wrong."
        ),
        images: images.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_images_are_those_of_training() {
        let scores = [0.5, 0.25, 0.0];
        let mse = loss_of(Loss::Mse, 0.0, &scores, 0);
        assert!((mse - (0.25 + 0.0625) / 3.0).abs() < 1e-12);
        let sum: f64 = scores.iter().map(|score: &f64| score.exp()).sum();
        let cross_entropy = loss_of(Loss::CrossEntropy, 0.0, &scores, 1);
        assert!((cross_entropy + (0.25_f64.exp() / sum).ln()).abs() < 1e-12);
        let smooth = loss_of(Loss::CrossEntropy, 0.3, &scores, 1);
        let mean: f64 = scores
            .iter()
            .map(|score| -(score.exp() / sum).ln())
            .sum::<f64>()
            / 3.0;
        assert!((smooth - (0.7 * cross_entropy + 0.3 * mean)).abs() < 1e-12);
    }
}
