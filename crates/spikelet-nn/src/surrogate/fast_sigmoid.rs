//! Fast sigmoid.
//!
//! g′(x) = 1 / (1 + s·|x|)². There is no primitive: the fast sigmoid x / (1 + s·|x|) is not a step from 0 to 1.
//!
//! Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks, Neural Computation
//! 2018; with the slope inside, snnTorch's `fast_sigmoid` (slope 25) and Norse's `super` (slope 100).

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Derivative of a fast sigmoid, 1 at the threshold.
///
/// | field | default | |
/// |---|---|---|
/// | `slope` | 25 | steepness; larger is narrower |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[doc(alias = "SuperSpike")]
pub struct FastSigmoid {
    /// Steepness.
    pub slope: f64,
}

impl Default for FastSigmoid {
    fn default() -> Self {
        Self { slope: 25.0 }
    }
}

impl Surrogate for FastSigmoid {
    spec!("fast_sigmoid");
    domains! { slope: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let d = 1.0 + self.slope * x.abs();
        1.0 / (&d * &d)
    }
}
