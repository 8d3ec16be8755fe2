//! F1: the harmonic mean of precision and recall.
//!
//! F1 of a class is 2·TP / (predicted + actual), with the numbers of samples that are of the class and predicted as
//! such (TP), predicted as such, and of the class.
//!
//! Source: C. J. van Rijsbergen, *Information retrieval*, 1979; scikit-learn's `f1_score`.

use super::{Metric, classes};
use spikelet_graph::Var;

/// The mean of the F1 of all classes that occur in the labels or the predictions (macro F1): scores `[N, classes]`,
/// labels i64 `[N]`.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::metric;
/// let tracer = Tracer::new(DType::F32);
/// let scores = tracer.input("scores", DType::F32, [32, 2]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// let f1 = metric::f1(&scores, &labels);
/// // True positives, predicted, actual, each by class.
/// assert_eq!(f1.value(&[8.0, 8.0, 16.0, 16.0, 16.0, 16.0], 32.0), 0.5);
/// ```
pub fn f1(scores: &Var, labels: &Var) -> Metric {
    Metric::new(counts(scores, labels), |sums, _| {
        let found: Vec<f64> = by_class(sums).flatten().collect();
        found.iter().sum::<f64>() / found.len().max(1) as f64
    })
}

/// The F1 of one class; 0 if it occurs neither in the labels nor in the predictions.
pub fn f1_of_class(scores: &Var, labels: &Var, class: usize) -> Metric {
    Metric::new(counts(scores, labels), move |sums, _| {
        by_class(sums).nth(class).flatten().unwrap_or(0.0)
    })
}

/// True positives, predicted and actual samples of each class, `[3 · classes]`.
fn counts(scores: &Var, labels: &Var) -> Var {
    let [predicted, actual] = classes::one_hot("F1", scores, labels);
    let parts = [&predicted * &actual, predicted, actual].map(|rows| rows.sum(&[0]));
    Var::concat(&parts.iter().collect::<Vec<_>>(), 0)
}

/// The F1 of each class, if it occurs.
fn by_class(sums: &[f64]) -> impl Iterator<Item = Option<f64>> {
    let classes = sums.len() / 3;
    (0..classes).map(move |k| {
        let (hits, occurrences) = (sums[k], sums[classes + k] + sums[2 * classes + k]);
        (occurrences > 0.0).then(|| 2.0 * hits / occurrences)
    })
}
