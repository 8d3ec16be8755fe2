//! SLAYER's exponential with a factor.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Exponential decay on both sides, with a factor.
///
/// g(x) = (c/2)·e^(αx) if x < 0, else c − (c/2)·e^(−αx); g′(x) = (c·α/2)·e^(−α|x|)
///
/// With c = 1 it is the two-sided exponential.
///
/// Source: Shrestha & Orchard, SLAYER: Spike layer error reassignment in time, NeurIPS 2018; with the factor, Baronig
/// et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature Communications
/// 16:5776, 2025.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Slayer {
    /// Steepness; larger is closer to the step.
    #[schema(default = 5.0, above = 0.0)]
    pub alpha: f64,
    /// Factor of the gradient.
    #[schema(default = 0.4, above = 0.0)]
    pub c: f64,
}

impl Surrogate for Slayer {
    fn derivative(&self, x: &Expr) -> Expr {
        (0.5 * self.c * self.alpha) * (x.abs() * -self.alpha).exp()
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let tail = (0.5 * self.c) * (x.abs() * -self.alpha).exp();
        Some(Expr::select(x.lt(0.0), &tail, self.c - &tail))
    }
}
