//! Deterministic pass.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Straight through: the gradient passes unchanged.
///
/// g(x) = x, g′(x) = 1; forward the step.
///
/// Source: Bengio et al., Estimating or propagating gradients through stochastic neurons for conditional computation,
/// arXiv:1308.3432 (the straight-through estimator).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[schema(name = "deterministic_pass")]
pub struct DeterministicPass {}

impl Surrogate for DeterministicPass {
    fn derivative(&self, _x: &Expr) -> Expr {
        Expr::constant(1.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(x.clone())
    }
}
