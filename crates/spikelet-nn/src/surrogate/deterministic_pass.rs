//! Deterministic pass.
//!
//! g(x) = x, g′(x) = 1; forward the step.
//!
//! Source: Bengio et al., Estimating or propagating gradients through stochastic neurons for
//! conditional computation, arXiv:1308.3432 (the straight-through estimator).

use super::Surrogate;
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// The gradient passes the step unchanged. It has no constants: `DeterministicPass {}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeterministicPass {}

impl Surrogate for DeterministicPass {
    spec!("deterministic_pass");

    fn derivative(&self, _x: &Expr) -> Expr {
        Expr::constant(1.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(x.clone())
    }
}
