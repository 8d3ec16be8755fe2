//! Cross entropy of the softmax of scores.
//!
//! L = −Σ_c w_c · q_c · ln softmax(score)_c, where w are the class weights. For a label y and a smoothing ε, q is
//! (1 − ε)·onehot(y) + ε / classes. The mean over the batch is divided by the sum of the labels' weights, or by
//! the number of samples if the targets are soft, as in PyTorch's `CrossEntropyLoss`. Rows of an ignored label count
//! neither in the sum nor in the number, as with PyTorch's `ignore_index`; without any other row the loss is 0.
//!
//! Source of label smoothing: C. Szegedy et al., *Rethinking the Inception architecture for computer
//! vision*, CVPR 2016.

use super::target::{Range, constants, expect_constant, one_hot, reject};
use super::{Loss, classifier::log_softmax};
use crate::module::StepOutputs;
use spikelet_graph::{DType, Var};
use spikelet_schema::Schema;

/// Cross entropy of scores `[N, classes]` and labels i64 `[N]`: −ln softmax(score)\[label\]. With a label for each time
/// step, scores are `[T, N, classes]` and labels `[T, N]`.
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

/// Cross entropy of the softmax of the scores.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let scores = tracer.input("scores", DType::F32, [32, 2]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// let loss = loss::CrossEntropy::new()
///     .label_smoothing(0.1)
///     .class_weights([1.0, 3.0]) // the second class is rare
///     .loss(&scores, &labels);
/// assert!(loss.shape().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct CrossEntropy {
    /// Label smoothing ε: the target of each class is increased by ε / classes, that of the label is 1 − ε + ε / classes.
    #[schema(from = 0, below = 1)]
    pub label_smoothing: f64,
    #[schema(skip)]
    class_weights: Option<Vec<f64>>,
    #[schema(skip)]
    ignored: Option<i64>,
}

impl Loss for CrossEntropy {
    fn apply(&self, _: &StepOutputs, scores: &Var, labels: &Var) -> Var {
        match labels.ty().dtype {
            DType::I64 => self.loss(scores, labels),
            _ => self.soft(scores, labels),
        }
    }

    fn of_sample(&self, scores: &[f64], label: usize) -> f64 {
        let logarithms = log_softmax(scores);
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        -(1.0 - self.label_smoothing) * logarithms[label] - self.label_smoothing * mean
    }

    fn of_steps(&self) -> Option<CrossEntropy> {
        Some(self.clone())
    }
}

impl CrossEntropy {
    /// Cross entropy without smoothing, weights and ignored labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the label smoothing ε, 0 to below 1.
    #[must_use]
    pub fn label_smoothing(mut self, epsilon: f64) -> Self {
        self.label_smoothing = epsilon;
        self
    }

    /// Sets a weight for each class, at least 0.
    #[must_use]
    pub fn class_weights(mut self, weights: impl Into<Vec<f64>>) -> Self {
        self.class_weights = Some(weights.into());
        self
    }

    /// Ignores the rows of this label, such as time steps without a label. It may be a number outside the classes.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let tracer = Tracer::new(DType::F32);
    /// let scores = tracer.input("scores", DType::F32, [100, 32, 6]); // a class at each time step
    /// let labels = tracer.input("labels", DType::I64, [100, 32]);
    /// let loss = loss::CrossEntropy::new().ignore_label(255).loss(&scores, &labels);
    /// assert!(loss.shape().is_empty());
    /// ```
    #[must_use]
    pub fn ignore_label(mut self, label: i64) -> Self {
        self.ignored = Some(label);
        self
    }

    /// The loss of scores `[N, classes]` and labels i64 `[N]`, or of `[T, N, classes]` and `[T, N]`.
    pub fn loss(&self, scores: &Var, labels: &Var) -> Var {
        self.of_labels(scores, labels, 0)
    }

    /// The loss of scores `[N, classes]` and soft targets of the same shape: a probability of each class, as of
    /// mixup.
    pub fn soft(&self, scores: &Var, targets: &Var) -> Var {
        self.of_targets(scores, targets, 0)
    }

    /// The mean over all rows of scores with `leading_axes` axes before `[N, classes]`.
    pub(super) fn of_labels(&self, scores: &Var, labels: &Var, leading_axes: usize) -> Var {
        let target = one_hot(scores, labels, leading_axes, self.ignored);
        let rows = rows(scores);
        let steps = rows / labels.ty().len().max(1) as f64;
        let sum = self.sum(scores, &target);
        match (self.weights(scores), self.ignored) {
            (None, None) => -(sum / rows),
            (None, Some(_)) => -(sum / (target.sum_all() * steps).maximum(1.0)),
            (Some(weights), ignored) => {
                let weight = (target * weights).sum_all() * steps;
                let weight = match ignored {
                    // Without any row, 0 is divided by 1.
                    Some(_) => &weight + weight.lt(1e-30),
                    None => weight,
                };
                -(sum / weight)
            }
        }
    }

    /// The same for soft targets.
    pub(super) fn of_targets(&self, scores: &Var, targets: &Var, leading_axes: usize) -> Var {
        if scores.shape().get(leading_axes..) != Some(targets.shape()) || targets.rank() != 2 {
            reject(
                "cross entropy",
                scores,
                "the targets are not a probability for each score",
                format!("scores {} and targets {}", scores.ty(), targets.ty()),
                "give scores and targets of the shape [N, classes], or `CrossEntropy::loss` the labels [N]",
            );
        }
        -(self.sum(scores, targets) / rows(scores))
    }

    /// Σ w · q · ln softmax(scores) over all rows and classes.
    fn sum(&self, scores: &Var, target: &Var) -> Var {
        let epsilon = self.label_smoothing;
        let name = "label smoothing";
        expect_constant("cross entropy", scores, name, epsilon, &Range::FRACTION);
        let logarithms = scores.log_softmax();
        let classes = target.shape().last().copied().unwrap_or(1).max(1);
        let smoothed = epsilon / classes as f64;
        let terms = match (epsilon, self.ignored) {
            (0.0, _) => logarithms * target,
            (_, None) => Var::map(&[&logarithms, target], |v| {
                &v[0] * (&v[1] * (1.0 - epsilon) + smoothed)
            }),
            (_, Some(_)) => {
                let last = target.rank().saturating_sub(1);
                let counts = target.sum(&[last]).unsqueeze(last);
                Var::map(&[&logarithms, target, &counts], |v| {
                    &v[0] * (&v[1] * (1.0 - epsilon) + &v[2] * smoothed)
                })
            }
        };
        let terms = match self.weights(scores) {
            None => terms,
            Some(weights) => terms * weights,
        };
        terms.sum_all()
    }

    /// The class weights as a vector.
    fn weights(&self, scores: &Var) -> Option<Var> {
        let weights = self.class_weights.as_ref()?;
        let classes = scores.shape().last().copied().unwrap_or(0);
        if weights.len() != classes {
            reject(
                "cross entropy",
                scores,
                &format!("{} class weights for {classes} classes", weights.len()),
                scores.ty().to_string(),
                "give one weight for each class",
            );
        }
        for weight in weights {
            let name = "a class weight";
            expect_constant("cross entropy", scores, name, *weight, &Range::NOT_NEGATIVE);
        }
        Some(constants(scores.tracer(), weights))
    }
}

/// The number of rows of scores `[…, classes]`.
fn rows(scores: &Var) -> f64 {
    let classes = scores.shape().last().copied().unwrap_or(1).max(1);
    (scores.ty().len() / classes).max(1) as f64
}
