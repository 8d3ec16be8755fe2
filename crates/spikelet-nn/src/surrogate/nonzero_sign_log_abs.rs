//! Nonzero sign of the logarithm of the absolute value.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Derivative of a two-sided logarithm.
///
/// g(x) = sgn(x)·ln(|αx| + 1) with sgn(0) = 1, g′(x) = 1 / (1/α + |x|)
///
/// The primitive goes through 0 at x = 0 and is not bounded.
///
/// Source: SpikingJelly, `surrogate.NonzeroSignLogAbs`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "nonzero_sign_log_abs")]
pub struct NonzeroSignLogAbs {
    /// Largest derivative.
    #[schema(default = 1.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for NonzeroSignLogAbs {
    fn derivative(&self, x: &Expr) -> Expr {
        1.0 / (x.abs() + 1.0 / self.alpha)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let log = ((x * self.alpha).abs() + 1.0).ln();
        Some(Expr::select(x.lt(0.0), -&log, &log))
    }
}
