//! Two-sided exponential.
//!
//! g(x) = ½e^(αx) if x < 0, else 1 − ½e^(−αx); g′(x) = (α/2)·e^(−α|x|)
//!
//! Source: Shrestha & Orchard, SLAYER: Spike layer error reassignment in time, NeurIPS 2018;
//! Neftci et al., Surrogate gradient learning in spiking neural networks, IEEE Signal Processing
//! Magazine 2019.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Decays exponentially on both sides.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 1 | steepness; larger is closer to the step |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PiecewiseExp {
    /// Steepness.
    pub alpha: f64,
}

impl Default for PiecewiseExp {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Surrogate for PiecewiseExp {
    spec!("piecewise_exp");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        (0.5 * self.alpha) * (x.abs() * -self.alpha).exp()
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let tail = 0.5 * (x.abs() * -self.alpha).exp();
        Some(Expr::select(x.lt(0.0), &tail, 1.0 - &tail))
    }
}
