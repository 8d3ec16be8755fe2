//! The leaky spike operator.
//!
//! g′(x) = 1 if x > 0, else leak; g(x) = x·g′(x)
//!
//! Unlike that of `leaky_k_relu`, the slope at the threshold is the lower one: with leak = 0 the derivative is the spike of
//! a strict threshold.
//!
//! Source: Kaiser et al., Synaptic plasticity dynamics for deep continuous local learning, Frontiers in Neuroscience
//! 14:424, 2020; snnTorch's `LSO` and `heaviside`.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Slope 1 above the threshold, a small one at and below it.
///
/// | field | default | |
/// |---|---|---|
/// | `leak` | 0.1 | slope at and below the threshold |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeakySpikeOperator {
    /// Slope at and below the threshold.
    pub leak: f64,
}

impl Default for LeakySpikeOperator {
    fn default() -> Self {
        Self { leak: 0.1 }
    }
}

impl Surrogate for LeakySpikeOperator {
    spec!("leaky_spike_operator");
    domains! { leak: Domain::FINITE }

    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.gt(0.0), 1.0, self.leak)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(Expr::select(x.gt(0.0), x, self.leak * x))
    }
}
