//! Two-sided exponential.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Exponential decay on both sides.
///
/// g(x) = ½e^(αx) if x < 0, else 1 − ½e^(−αx); g′(x) = (α/2)·e^(−α|x|)
///
/// Source: Shrestha & Orchard, SLAYER: Spike layer error reassignment in time, NeurIPS 2018; Neftci et al., Surrogate
/// gradient learning in spiking neural networks, IEEE Signal Processing Magazine 2019.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "piecewise_exp")]
pub struct PiecewiseExp {
    /// Steepness; larger is closer to the step.
    #[schema(default = 1.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for PiecewiseExp {
    fn derivative(&self, x: &Expr) -> Expr {
        (0.5 * self.alpha) * (x.abs() * -self.alpha).exp()
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let tail = 0.5 * (x.abs() * -self.alpha).exp();
        Some(Expr::select(x.lt(0.0), &tail, 1.0 - &tail))
    }
}
