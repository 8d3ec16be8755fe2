//! Sign-swish.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Above this, e⁻ᵘ is 0 in any type. The bound avoids 0·∞ if u overflows.
const FLAT: f64 = 1e4;

/// Derivative of sign-swish, negative in its tails.
///
/// u = βx; g(x) = 2σ(u)·(1 + u(1 − σ(u))) − ½, g′(x) = β(2 − u·tanh(u/2)) / (1 + cosh u)
///
/// The source defines a surrogate of the sign function, from −1 to 1. The derivative and the height of 2 are
/// unchanged; the offset of ½ is that of a step. It overshoots: g′ is negative for |u| > 2.4.
///
/// Source: Darabi et al., Regularized binary network training, arXiv:1812.11800; SpikingFlow,
/// `softbp.soft_pulse_function`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "sign_swish")]
pub struct SignSwish {
    /// Steepness; larger is closer to the step.
    #[schema(default = 5.0, above = 0.0)]
    pub beta: f64,
}

impl Surrogate for SignSwish {
    fn derivative(&self, x: &Expr) -> Expr {
        // With e = e⁻ᵘ for u ≥ 0: tanh(u/2) = (1 − e)/(1 + e), 1 + cosh u = (1 + e)²/(2e).
        let u = (x * self.beta).abs().min(FLAT);
        let e = (-&u).exp();
        let r = 1.0 / (1.0 + &e);
        (2.0 * self.beta) * &e * (&r * &r) * (2.0 - u * ((1.0 - e) * r))
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let u = (x * self.beta).clamp(-FLAT, FLAT);
        let s = u.sigmoid();
        Some(2.0 * &s * (1.0 + u * (1.0 - &s)) - 0.5)
    }
}
