//! Nonzero sign of the logarithm of the absolute value.
//!
//! g(x) = sgn(x)·ln(|αx| + 1) with sgn(0) = 1, g′(x) = 1 / (1/α + |x|)
//!
//! The primitive goes through 0 at x = 0 and is not bounded.
//!
//! Source: SpikingJelly, `surrogate.NonzeroSignLogAbs`.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Derivative of a two-sided logarithm.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 1 | largest derivative |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NonzeroSignLogAbs {
    /// Largest derivative.
    pub alpha: f64,
}

impl Default for NonzeroSignLogAbs {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Surrogate for NonzeroSignLogAbs {
    spec!("nonzero_sign_log_abs");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        1.0 / (x.abs() + 1.0 / self.alpha)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let log = ((x * self.alpha).abs() + 1.0).ln();
        Some(Expr::select(x.lt(0.0), -&log, &log))
    }
}
