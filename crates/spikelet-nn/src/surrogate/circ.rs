//! Derivative of a circular sigmoid.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Derivative of x/√(x² + α²), 1 at the threshold.
///
/// g(x) = α·(1 + x/√(x² + α²)), g′(x) = α³ / (x² + α²)^(3/2)
///
/// Source: Norse's `circ`, with its factor 2α: 1 at the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Circ {
    /// Width.
    #[schema(default = 1.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for Circ {
    fn derivative(&self, x: &Expr) -> Expr {
        let u = x / self.alpha;
        let square = 1.0 + &u * &u;
        1.0 / (&square * square.sqrt())
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        // Beyond these limits u/√(1 + u²) rounds to ±1; its square could overflow.
        let u = (x / self.alpha).max(-1e9).min(1e9);
        Some(self.alpha * (&u / (1.0 + &u * &u).sqrt() + 1.0))
    }
}
