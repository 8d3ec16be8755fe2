//! SLAYER's exponential with a factor.
//!
//! g(x) = (c/2)·e^(αx) if x < 0, else c − (c/2)·e^(−αx); g′(x) = (c·α/2)·e^(−α|x|)
//!
//! With c = 1 it is the two-sided exponential.
//!
//! Source: Shrestha & Orchard, SLAYER: Spike layer error reassignment in time, NeurIPS 2018; with the factor, Baronig
//! et al., Advancing spatio-temporal processing through adaptation in spiking neural networks, Nature Communications
//! 16:5776, 2025.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// A two-sided exponential with a factor.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 5 | steepness; larger is closer to the step |
/// | `c` | 0.4 | factor of the gradient |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slayer {
    /// Steepness.
    pub alpha: f64,
    /// Factor of the gradient.
    pub c: f64,
}

impl Default for Slayer {
    fn default() -> Self {
        Self { alpha: 5.0, c: 0.4 }
    }
}

impl Surrogate for Slayer {
    spec!("slayer");
    domains! { alpha: Domain::above(0.0), c: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        (0.5 * self.c * self.alpha) * (x.abs() * -self.alpha).exp()
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let tail = (0.5 * self.c) * (x.abs() * -self.alpha).exp();
        Some(Expr::select(x.lt(0.0), &tail, self.c - &tail))
    }
}
