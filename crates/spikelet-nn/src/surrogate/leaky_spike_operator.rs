//! The leaky spike operator.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// 1 above the threshold, a small slope at and below it.
///
/// g′(x) = 1 if x > 0, else leak; g(x) = x·g′(x)
///
/// Unlike that of `leaky_k_relu`, the slope at the threshold is the lower one: with leak = 0 the derivative is the
/// spike of a strict threshold.
///
/// Source: Kaiser et al., Synaptic plasticity dynamics for deep continuous local learning, Frontiers in Neuroscience
/// 14:424, 2020; snnTorch's `LSO` and `heaviside`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "leaky_spike_operator")]
pub struct LeakySpikeOperator {
    /// Slope at and below the threshold.
    #[schema(default = 0.1)]
    pub leak: f64,
}

impl Surrogate for LeakySpikeOperator {
    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.gt(0.0), 1.0, self.leak)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(Expr::select(x.gt(0.0), x, self.leak * x))
    }
}
