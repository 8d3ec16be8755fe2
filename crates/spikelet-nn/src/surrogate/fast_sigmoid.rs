//! Fast sigmoid.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Derivative of a fast sigmoid, 1 at the threshold.
///
/// g′(x) = 1 / (1 + s·|x|)². There is no primitive: the fast sigmoid x / (1 + s·|x|) is not a step from 0 to 1.
///
/// Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks, Neural Computation
/// 2018; with the slope inside, snnTorch's `fast_sigmoid` (slope 25) and Norse's `super` (slope 100).
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "fast_sigmoid")]
#[doc(alias = "SuperSpike")]
pub struct FastSigmoid {
    /// Steepness; larger is narrower.
    #[schema(default = 25.0, above = 0.0)]
    pub slope: f64,
}

impl Surrogate for FastSigmoid {
    fn derivative(&self, x: &Expr) -> Expr {
        let d = 1.0 + self.slope * x.abs();
        1.0 / (&d * &d)
    }
}
