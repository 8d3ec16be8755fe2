//! Soft sign.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Derivative of the soft sign.
///
/// g(x) = ½(αx/(1 + |αx|) + 1), g′(x) = 1 / (2α(1/α + |x|)²)
///
/// Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks, Neural Computation
/// 2018; Neftci et al., IEEE Signal Processing Magazine 2019.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "soft_sign")]
pub struct SoftSign {
    /// Steepness; larger is closer to the step.
    #[schema(default = 2.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for SoftSign {
    fn derivative(&self, x: &Expr) -> Expr {
        let d = x.abs() + 1.0 / self.alpha;
        0.5 / self.alpha / (&d * &d)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        // αx/(1 + |αx|) in a form without overflow.
        Some(0.5 * (x / (x.abs() + 1.0 / self.alpha) + 1.0))
    }
}
