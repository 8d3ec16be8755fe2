//! Leaky k-ReLU.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// One slope above the threshold, another below.
///
/// g′(x) = k if x ≥ 0, else leak; g(x) = x·g′(x)
///
/// Source: SpikingJelly, `surrogate.LeakyKReLU`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "leaky_k_relu")]
pub struct LeakyKRelu {
    /// Slope below the threshold.
    #[schema(default = 0.0)]
    pub leak: f64,
    /// Slope above it.
    #[schema(default = 1.0)]
    pub k: f64,
}

impl Surrogate for LeakyKRelu {
    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.ge(0.0), self.k, self.leak)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(Expr::select(x.ge(0.0), self.k * x, self.leak * x))
    }
}
