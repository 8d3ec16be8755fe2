//! Accuracy.

use super::Metric;
use spikelet_graph::Var;
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
    Metric::new(loss::correct(scores, labels), |sums, samples| {
        sums[0] / samples
    })
}
