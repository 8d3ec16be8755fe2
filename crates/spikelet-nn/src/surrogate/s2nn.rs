//! Sigmoid below the threshold, logarithm above.
//!
//! | x | g′(x) | g(x) |
//! |---|---|---|
//! | x < 0 | α·σ(αx)·(1 − σ(αx)) | σ(αx) |
//! | x ≥ 0 | β/(x + 1) | β·ln(x + 1 + 10⁻⁵) + ½ |
//!
//! The 10⁻⁵ is from the source: without it, g′ would be the exact derivative of g above the threshold.
//!
//! Source: Suetake et al., S²NN: Time step reduction of spiking surrogate gradients for training
//! energy efficient single-step neural networks, arXiv:2201.10879.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// A sigmoid below the threshold, a logarithm above.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 4 | steepness below the threshold |
/// | `beta` | 1 | derivative at the threshold, from above |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct S2nn {
    /// Steepness below the threshold.
    pub alpha: f64,
    /// Derivative at the threshold, from above.
    pub beta: f64,
}

impl Default for S2nn {
    fn default() -> Self {
        Self {
            alpha: 4.0,
            beta: 1.0,
        }
    }
}

impl Surrogate for S2nn {
    spec!("s2nn");
    domains! { alpha: Domain::above(0.0), beta: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let s = (x * self.alpha).sigmoid();
        let below = self.alpha * &s * (1.0 - s);
        Expr::select(x.lt(0.0), below, self.beta / (x + 1.0))
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let above = self.beta * (x + 1.0 + 1e-5).ln() + 0.5;
        Some(Expr::select(x.lt(0.0), (x * self.alpha).sigmoid(), above))
    }
}
