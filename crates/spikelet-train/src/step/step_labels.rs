//! Loss and accuracies of sequences with a label for each time step.

use super::Outputs;
use crate::Settings;
use crate::metric::{ACCURACY, LABELED_ACCURACY, Metric};
use spikelet_core::{Error, Result};
use spikelet_data::Unlabeled;
use spikelet_graph::Var;

/// Checks that these settings have a loss for each time step.
pub(super) fn check(settings: &Settings, steps: usize) -> Result<()> {
    if settings.loss.of_steps().is_none() {
        let given = format!("{} was given", settings.loss.name());
        let help = "use \"cross-entropy\": every time step has a label";
        return Err(Error::invalid("loss", given, help));
    }
    if settings.skip_steps >= steps {
        let given = format!("{} of {steps} are skipped", settings.skip_steps);
        return Err(Error::invalid("time steps", given, "skip fewer steps"));
    }
    Ok(())
}

/// The loss and the accuracies of scores `[T, N, classes]` and labels `[T, N]`.
pub(super) fn outputs(
    settings: &Settings,
    scores: &Var,
    labels: &Var,
    unlabeled: &Unlabeled,
) -> Outputs {
    let (steps, skip) = (scores.dim(0), settings.skip_steps);
    let (scores, labels) = match skip {
        0 => (scores.clone(), labels.clone()),
        skip => (scores.slice(0, skip..steps), labels.slice(0, skip..steps)),
    };
    let classes = scores.shape().last().copied().unwrap_or(0);
    let cross_entropy = settings.loss.of_steps().unwrap_or_default();
    let is_unlabeled = labels.equals(unlabeled.label as f64);
    let loss = match settings.unlabeled {
        None => {
            let cross_entropy = cross_entropy.ignore_label(unlabeled.label);
            cross_entropy.loss(&scores, &labels)
        }
        Some(class) => {
            let rows = labels.ty().len();
            let own = labels.one_hot_ignoring(classes, Some(unlabeled.label));
            let others = labels.tracer().fill(own.ty().dtype, [rows, 1], 1.0);
            let others = others * is_unlabeled.reshape([rows, 1]);
            let zeros = |columns: usize| labels.tracer().fill(own.ty().dtype, [rows, columns], 0.0);
            let class = usize::try_from(class)
                .unwrap_or(0)
                .min(classes.saturating_sub(1));
            let others = Var::concat(&[&zeros(class), &others, &zeros(classes - class - 1)], 1);
            let targets = own.reshape([rows, classes]) + others;
            cross_entropy.soft(&scores.reshape([rows, classes]), &targets)
        }
    };
    let predicted = scores.argmax();
    let right = predicted.equals(&labels).sum_all();
    let unlabeled_steps = is_unlabeled.sum_all();
    let labeled = labels.ty().len() as f64 - &unlabeled_steps;
    let of_labeled = |right: &Var| {
        let sums = Var::concat(&[&right.reshape([1]), &labeled.reshape([1])], 0);
        Metric::new(sums, |sums, _| sums[0] / sums[1].max(1.0))
    };
    let outputs = Outputs::loss(loss);
    match unlabeled.counted_as {
        None => outputs.metric(ACCURACY, of_labeled(&right)),
        Some(class) => {
            let counted = predicted.equals(class as f64) * is_unlabeled;
            let each = scores.dim(0) as f64;
            let all = (&right + counted.sum_all()) / each;
            outputs
                .metric(
                    ACCURACY,
                    Metric::new(all, |sums, samples| sums[0] / samples),
                )
                .metric(LABELED_ACCURACY, of_labeled(&right))
        }
    }
}
