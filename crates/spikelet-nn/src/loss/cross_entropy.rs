//! Cross entropy of the softmax of scores.
//!
//! L = −Σ_c q_c · ln softmax(score)_c, mean over the batch. For a label y and a smoothing ε, q is
//! (1 − ε)·onehot(y) + ε / classes.
//!
//! Source of label smoothing: C. Szegedy et al., *Rethinking the Inception architecture for computer
//! vision*, CVPR 2016; PyTorch's `CrossEntropyLoss`.

use super::target::one_hot;
use spikelet_graph::Var;

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
    CrossEntropy::new().loss(scores, labels)
}

/// Cross entropy with its options.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let scores = tracer.input("scores", DType::F32, [32, 10]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// let loss = loss::CrossEntropy::new().label_smoothing(0.1).loss(&scores, &labels);
/// assert!(loss.shape().is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CrossEntropy {
    label_smoothing: f64,
}

impl CrossEntropy {
    /// Cross entropy without smoothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the label smoothing ε, 0 to below 1.
    #[must_use]
    pub fn label_smoothing(mut self, epsilon: f64) -> Self {
        self.label_smoothing = epsilon;
        self
    }

    /// The loss of scores `[N, classes]` and labels i64 `[N]`.
    pub fn loss(&self, scores: &Var, labels: &Var) -> Var {
        self.mean(scores, labels, 0)
    }

    /// The mean over all rows of scores with `leading_axes` axes before `[N, classes]`.
    pub(super) fn mean(&self, scores: &Var, labels: &Var, leading_axes: usize) -> Var {
        let target = one_hot(scores, labels, leading_axes);
        let classes = target.shape().last().copied().unwrap_or(1).max(1);
        let rows = scores.ty().len() / classes;
        let logarithms = scores.log_softmax();
        let picked = match self.label_smoothing {
            0.0 => logarithms * target,
            epsilon => Var::map(&[&logarithms, &target], |v| {
                &v[0] * (&v[1] * (1.0 - epsilon) + epsilon / classes as f64)
            }),
        };
        -(picked.sum_all() / rows as f64)
    }
}
