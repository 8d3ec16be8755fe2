//! Binary cross entropy: an independent decision for each score.
//!
//! L = −p·t·ln σ(x) − (1 − t)·ln(1 − σ(x)), mean over all elements. It is computed from ln(1 + eˣ), which does not
//! overflow.
//!
//! Source: PyTorch's `BCEWithLogitsLoss`.

use super::target::{Range, expect_constant, expect_same_shape};
use spikelet_graph::Var;

/// Binary cross entropy of scores (logits) and targets of one shape, from 0 to 1.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let [scores, targets] = ["scores", "targets"].map(|n| tracer.input(n, DType::F32, [32, 5]));
/// assert!(loss::binary_cross_entropy(&scores, &targets).shape().is_empty());
/// ```
#[doc(alias = "BCEWithLogitsLoss")]
pub fn binary_cross_entropy(scores: &Var, targets: &Var) -> Var {
    weighted_binary_cross_entropy(scores, targets, 1.0)
}

/// The same, where the term of the targets 1 has the weight p = `positive_weight` > 0.
pub fn weighted_binary_cross_entropy(scores: &Var, targets: &Var, positive_weight: f64) -> Var {
    let loss = "binary cross entropy";
    expect_same_shape(loss, scores, targets);
    expect_constant(
        loss,
        scores,
        "the positive weight",
        positive_weight,
        &Range::POSITIVE,
    );
    // −ln σ(x) = softplus(x) − x, −ln(1 − σ(x)) = softplus(x).
    let softplus = scores.softplus();
    let terms = Var::map(&[scores, &softplus, targets], |v| {
        let (x, softplus, t) = (&v[0], &v[1], &v[2]);
        positive_weight * t * (softplus - x) + (1.0 - t) * softplus
    });
    terms.mean_all()
}
