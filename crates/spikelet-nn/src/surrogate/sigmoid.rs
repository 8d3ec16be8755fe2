//! Sigmoid.
//!
//! g(x) = σ(αx), g′(x) = α·σ(αx)·(1 − σ(αx))
//!
//! Source: SpikingFlow's tutorial "soft back-propagation" (there with α = 1).

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Derivative of the logistic function.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 4 | steepness; larger is closer to the step |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sigmoid {
    /// Steepness.
    pub alpha: f64,
}

impl Sigmoid {
    /// The surrogate with this steepness.
    pub fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

impl Default for Sigmoid {
    fn default() -> Self {
        Self { alpha: 4.0 }
    }
}

impl Surrogate for Sigmoid {
    spec!("sigmoid");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let s = (x * self.alpha).sigmoid();
        self.alpha * &s * (1.0 - s)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some((x * self.alpha).sigmoid())
    }
}
