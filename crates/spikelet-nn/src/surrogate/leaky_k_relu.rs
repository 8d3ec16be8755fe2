//! Leaky k-ReLU.
//!
//! g′(x) = k if x ≥ 0, else leak; g(x) = x·g′(x)
//!
//! Source: SpikingJelly, `surrogate.LeakyKReLU`.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// One slope above the threshold, another below.
///
/// | field | default | |
/// |---|---|---|
/// | `leak` | 0 | slope below the threshold |
/// | `k` | 1 | slope above it |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeakyKRelu {
    /// Slope below the threshold.
    pub leak: f64,
    /// Slope above the threshold.
    pub k: f64,
}

impl Default for LeakyKRelu {
    fn default() -> Self {
        Self { leak: 0.0, k: 1.0 }
    }
}

impl Surrogate for LeakyKRelu {
    spec!("leaky_k_relu");
    domains! { leak: Domain::FINITE, k: Domain::FINITE }

    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.ge(0.0), self.k, self.leak)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(Expr::select(x.ge(0.0), self.k * x, self.leak * x))
    }
}
