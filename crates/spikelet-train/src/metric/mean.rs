//! Means over samples.

use super::Metric;
use spikelet_graph::Var;

/// The mean over all samples and elements of values `[N, …]`, such as squared errors.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// use spikelet_train::metric;
/// let tracer = Tracer::new(DType::F32);
/// let [y, target] = ["y", "target"].map(|name| tracer.input(name, DType::F32, [32, 2]));
/// let error = metric::mean(&(y - target).abs());
/// assert_eq!(error.value(&[8.0], 32.0), 0.25);
/// ```
pub fn mean(values: &Var) -> Metric {
    let samples = values.shape().first().copied().unwrap_or(1).max(1);
    let elements = (values.ty().len() / samples).max(1);
    Metric::new(values.sum_all() / elements as f64, |sums, samples| {
        sums[0] / samples
    })
}
