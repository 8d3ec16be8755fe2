//! Soft sign.
//!
//! g(x) = ½(αx/(1 + |αx|) + 1), g′(x) = 1 / (2α(1/α + |x|)²)
//!
//! Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks,
//! Neural Computation 2018; Neftci et al., IEEE Signal Processing Magazine 2019.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Derivative of the soft sign.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 2 | steepness; larger is closer to the step |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoftSign {
    /// Steepness.
    pub alpha: f64,
}

impl Default for SoftSign {
    fn default() -> Self {
        Self { alpha: 2.0 }
    }
}

impl Surrogate for SoftSign {
    spec!("soft_sign");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let d = x.abs() + 1.0 / self.alpha;
        0.5 / self.alpha / (&d * &d)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        // αx/(1 + |αx|) in a form without overflow.
        Some(0.5 * (x / (x.abs() + 1.0 / self.alpha) + 1.0))
    }
}
