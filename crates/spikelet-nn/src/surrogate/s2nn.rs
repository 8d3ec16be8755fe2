//! Sigmoid below the threshold, logarithm above.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Derivative of a sigmoid below the threshold, of a logarithm above.
///
/// | x | g′(x) | g(x) |
/// |---|---|---|
/// | x < 0 | α·σ(αx)·(1 − σ(αx)) | σ(αx) |
/// | x ≥ 0 | β/(x + 1) | β·ln(x + 1 + 10⁻⁵) + ½ |
///
/// The 10⁻⁵ is from the source: without it, g′ would be the exact derivative of g above the threshold.
///
/// Source: Suetake et al., S²NN: Time step reduction of spiking surrogate gradients for training energy efficient
/// single-step neural networks, arXiv:2201.10879.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct S2nn {
    /// Steepness below the threshold.
    #[schema(default = 4.0, above = 0.0)]
    pub alpha: f64,
    /// Derivative at the threshold, from above.
    #[schema(default = 1.0, above = 0.0)]
    pub beta: f64,
}

impl Surrogate for S2nn {
    fn derivative(&self, x: &Expr) -> Expr {
        let s = (x * self.alpha).sigmoid();
        let below = self.alpha * &s * (1.0 - s);
        Expr::select(x.lt(0.0), below, self.beta / (x + 1.0))
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let above = self.beta * (x + 1.0 + 1e-5).ln() + 0.5;
        Some(Expr::select(x.lt(0.0), (x * self.alpha).sigmoid(), above))
    }
}
