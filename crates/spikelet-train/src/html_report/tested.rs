//! The confusion matrix and the worst examples.

use super::RunRecords;
use super::activity::sample;
use crate::metric::recognized;
use crate::report::html::{Confusion, Sample, Worst, rounded};
use crate::sequence_pass::{SequencePass, predicted};
use crate::step::LABELS;
use crate::test_pass::TestPass;
use spikelet_data::Dataset;
use spikelet_nn::loss::Loss;
use std::collections::BTreeMap;

/// The largest number of classes with a matrix.
const MOST_CLASSES: usize = 200;
/// The number of images with the highest loss, and of the most frequent errors.
const WORST: usize = 24;
const PAIRS: usize = 12;

/// The confusion matrix and the images with the highest loss.
pub(super) fn quality(
    run: &RunRecords<'_>,
    test: &dyn Dataset,
    pass: &TestPass,
) -> (Option<Confusion>, Option<Worst>) {
    let Some(settings) = run.settings.filter(|_| !pass.scores.is_empty()) else {
        return (None, None);
    };
    let classes = test.class_names(LABELS).len();
    let mut pairs: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    let mut losses = vec![];
    for (index, (scores, label)) in pass.scores.iter().zip(&pass.labels).enumerate() {
        let Ok(label) = usize::try_from(*label) else {
            continue;
        };
        if label >= scores.len().max(classes) || label >= scores.len() {
            continue;
        }
        *pairs.entry((label, predicted(scores))).or_default() += 1;
        losses.push((index, settings.loss.of_sample(scores, label)));
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
        Some(worst(&*settings.loss, test, pass, losses)),
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

fn worst(
    loss: &dyn Loss,
    test: &dyn Dataset,
    pass: &TestPass,
    mut losses: Vec<(usize, f64)>,
) -> Worst {
    losses.sort_by(|a, b| b.1.total_cmp(&a.1));
    let images = losses.iter().take(WORST).map(|&(index, value)| Sample {
        loss: rounded(value),
        ..sample(test, index, &pass.scores[index])
    });
    Worst {
        note: format!(
            "The test images with the highest loss ({} of the mean scores): true class, prediction, loss. Labels of such images may be wrong.",
            loss.name()
        ),
        images: images.collect(),
    }
}
