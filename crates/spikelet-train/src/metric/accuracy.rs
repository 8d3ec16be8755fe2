//! Accuracy.

use super::{Metric, classes};
use spikelet_graph::{Error, Var};
use spikelet_nn::loss;

/// The fraction of the samples whose largest score is that of the label: scores `[N, classes]`, labels i64 `[N]`.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::metric;
/// let tracer = Tracer::new(DType::F32);
/// let scores = tracer.input("scores", DType::F32, [32, 10]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// let accuracy = metric::accuracy(&scores, &labels);
/// assert_eq!(accuracy.value(&[24.0], 32.0), 0.75);
/// ```
pub fn accuracy(scores: &Var, labels: &Var) -> Metric {
    classes::expect("accuracy", scores, labels);
    Metric::new(loss::correct(scores, labels), |sums, samples| {
        sums[0] / samples
    })
}

/// The fraction of the samples whose label is among the `k` largest scores: scores `[N, classes]`, labels i64 `[N]`.
/// Of equal scores that of the first class counts as the largest, as in [`accuracy`].
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::metric;
/// let tracer = Tracer::new(DType::F32);
/// let scores = tracer.input("scores", DType::F32, [32, 100]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// assert_eq!(metric::top_k(&scores, &labels, 5).value(&[24.0], 32.0), 0.75);
/// ```
pub fn top_k(scores: &Var, labels: &Var, k: usize) -> Metric {
    classes::expect("top-k accuracy", scores, labels);
    let count = scores.shape().last().copied().unwrap_or(0);
    if k == 0 || k > count {
        scores.tracer().fail(Error::Shape {
            layer: scores.tracer().path(),
            operation: "top-k accuracy".to_string(),
            problem: format!("k is {k}"),
            given: format!("scores {}", scores.ty()),
            help: format!("use a k from 1 to the number of classes, {count}"),
        });
    }
    let [_, best] = scores.topk(k);
    let candidates = labels.reshape([labels.ty().len(), 1]);
    let found = best.equals(&candidates.expand(best.shape()));
    Metric::new(found.sum_all(), |sums, samples| sums[0] / samples)
}
