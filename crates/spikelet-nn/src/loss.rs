//! Losses, each a mean over the batch.

use spikelet_graph::{Error, Var};

/// Cross entropy of scores `[N, classes]` and labels i64 `[N]`: −ln softmax(score)\[label\].
/// With firing rates as scores, this is the loss of SpikingFlow's tutorial.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let scores = tracer.input("scores", DType::F32, [32, 10]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// assert!(loss::cross_entropy(&scores, &labels).shape().is_empty());
/// ```
pub fn cross_entropy(scores: &Var, labels: &Var) -> Var {
    let picked = scores.log_softmax() * one_hot(scores, labels);
    -(picked.sum_all() / labels.ty().len() as f64)
}

/// Mean squared error of two tensors of one shape.
pub fn mean_squared_error(given: &Var, target: &Var) -> Var {
    (given - target).square().mean_all()
}

/// Mean squared error of scores `[N, classes]` and one-hot labels i64 `[N]`.
pub fn mse(scores: &Var, labels: &Var) -> Var {
    mean_squared_error(scores, &one_hot(scores, labels))
}

/// The labels as one-hot rows of the shape of the scores. If the number of rows is not the number of labels, the
/// trace records an error.
fn one_hot(scores: &Var, labels: &Var) -> Var {
    let given = scores.shape().split_last();
    if given.is_none_or(|(_, rows)| rows != labels.shape()) {
        scores.tracer().fail(Error::Shape {
            layer: scores.tracer().path(),
            operation: "loss".to_string(),
            problem: "the scores are not a row for each label".to_string(),
            given: format!("scores {} and labels {}", scores.ty(), labels.ty()),
            help: "give scores [N, classes] and labels [N]; put a `Flatten` behind the last layer"
                .to_string(),
        });
    }
    labels.one_hot(given.map_or(0, |(classes, _)| *classes))
}

/// The number of rows of scores `[N, classes]` whose largest element is at the label.
pub fn correct(scores: &Var, labels: &Var) -> Var {
    scores.argmax().equals(labels).sum_all()
}
