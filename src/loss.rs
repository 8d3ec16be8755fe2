//! Losses, each a mean over the batch.

use spikelet_graph::Var;

/// Cross entropy of scores `[N, classes]` and labels i64 `[N]`: −ln softmax(score)\[label\].
/// With firing rates as scores this is the loss of SpikingFlow's tutorial.
///
/// ```
/// use spikelet::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let scores = tracer.input("scores", DType::F32, [32, 10]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// assert!(loss::cross_entropy(&scores, &labels).shape().is_empty());
/// ```
pub fn cross_entropy(scores: &Var, labels: &Var) -> Var {
    let classes = scores.dim(scores.rank().saturating_sub(1));
    let picked = scores.log_softmax() * labels.one_hot(classes);
    -(picked.sum_all() / labels.ty().len() as f64)
}

/// Mean squared error of two tensors of one shape.
pub fn mean_squared_error(given: &Var, target: &Var) -> Var {
    (given - target).square().mean_all()
}

/// Mean squared error of scores `[N, classes]` and one-hot labels i64 `[N]`.
pub fn one_hot_error(scores: &Var, labels: &Var) -> Var {
    let classes = scores.dim(scores.rank().saturating_sub(1));
    mean_squared_error(scores, &labels.one_hot(classes))
}

/// How many rows of scores `[N, classes]` have their largest element at the label.
pub fn correct(scores: &Var, labels: &Var) -> Var {
    scores.argmax().equals(labels).sum_all()
}
