//! SuperSpike.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Derivative of a fast sigmoid, scaled.
///
/// g′(x) = α / (1 + |x|)². There is no primitive.
///
/// Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks, Neural Computation
/// 2018.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "super_spike")]
pub struct SuperSpike {
    /// Largest derivative.
    #[schema(default = 1.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for SuperSpike {
    fn derivative(&self, x: &Expr) -> Expr {
        let d = 1.0 + x.abs();
        self.alpha / (&d * &d)
    }
}
