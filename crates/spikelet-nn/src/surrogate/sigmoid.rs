//! Sigmoid.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Derivative of the logistic function.
///
/// g(x) = σ(αx), g′(x) = α·σ(αx)·(1 − σ(αx))
///
/// Source: SpikingFlow's tutorial "soft back-propagation" (there with α = 1).
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Sigmoid {
    /// Steepness; larger is closer to the step.
    #[schema(default = 4.0, above = 0.0)]
    pub alpha: f64,
}

impl Sigmoid {
    /// The surrogate with this steepness.
    pub fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

impl Surrogate for Sigmoid {
    fn derivative(&self, x: &Expr) -> Expr {
        let s = (x * self.alpha).sigmoid();
        self.alpha * &s * (1.0 - s)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some((x * self.alpha).sigmoid())
    }
}
