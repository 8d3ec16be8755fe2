//! The confusion matrix and the worst examples.

use super::RunRecords;
use super::activity::sample;
use crate::metric::recognized;
use crate::step::LABELS;
use crate::test_pass::TestPass;
use spikelet_data::{Dataset, image_shape};
use spikelet_nn::loss::Loss;
use spikelet_report::report::html::{Confusion, Sample, Worst, rounded};
use std::collections::BTreeMap;

/// The largest number of classes with a matrix.
const MOST_CLASSES: usize = 200;
/// The number of images with the highest loss, and of the most frequent errors.
const WORST: usize = 24;
const PAIRS: usize = 12;

/// The names of the classes; their numbers if they have none.
pub(super) fn class_names(test: &dyn Dataset, pass: &TestPass) -> Vec<String> {
    match test.class_names(LABELS) {
        [] => (0..pass.classes).map(|k| k.to_string()).collect(),
        names => names.iter().map(|name| super::short(name)).collect(),
    }
}

/// The confusion matrix, and the images with the highest loss.
pub(super) fn quality(
    run: &RunRecords<'_>,
    test: &dyn Dataset,
    pass: &TestPass,
) -> (Option<Confusion>, Option<Worst>) {
    if pass.counts.is_empty() {
        return (None, None);
    }
    let is_image = image_shape(test).is_ok();
    let has_time = test.fields().iter().any(|field| field.sequence);
    let [unit, counted] = match (is_image, has_time, pass.each_step) {
        (true, ..) => ["test images", "images"],
        (false, true, true) => ["test sequences", "labeled time steps"],
        (false, true, false) => ["test sequences", "sequences"],
        (false, false, _) => ["test samples", "samples"],
    };
    let silent = pass.scores.iter();
    let confusion = Confusion {
        samples: pass.tested,
        of: test.len(),
        unit,
        counted,
        silent: silent.filter(|scores| recognized(scores).is_none()).count(),
        ..confusion(&pass.counts, class_names(test, pass).len())
    };
    let loss = &*run.settings.loss;
    // The loss of a user-defined step is not known.
    let worst = (is_image && run.time_steps.is_some()).then(|| worst(loss, test, pass));
    (Some(confusion), worst)
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

fn worst(loss: &dyn Loss, test: &dyn Dataset, pass: &TestPass) -> Worst {
    let judged = pass.scores.iter().zip(&pass.labels).enumerate();
    let judged = judged.filter_map(|(index, (scores, label))| {
        let label = usize::try_from(*label).ok()?;
        (label < scores.len()).then(|| (index, loss.of_sample(scores, label)))
    });
    let mut losses: Vec<(usize, f64)> = judged.collect();
    losses.sort_by(|a, b| b.1.total_cmp(&a.1));
    let images = losses.iter().take(WORST).map(|&(index, value)| Sample {
        loss: rounded(value),
        ..sample(test, pass, index)
    });
    Worst {
        note: format!(
            "The test images with the highest loss ({} of the mean scores): true class, prediction, loss. Labels of such images may be wrong.",
            loss.name()
        ),
        images: images.collect(),
    }
}
