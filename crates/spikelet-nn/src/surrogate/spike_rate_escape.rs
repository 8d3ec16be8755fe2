//! Spike-rate escape.
//!
//! g′(x) = slope·e^(−β·|x − 1|)
//!
//! Source: Shrestha and Orchard, SLAYER: spike layer error reassignment in time, NeurIPS 2018; the form is that of
//! snnTorch's `spike_rate_escape`.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Exponential decay on both sides of 1 above the threshold.
///
/// | field | default | |
/// |---|---|---|
/// | `beta` | 1 | steepness of the decay |
/// | `slope` | 25 | the largest value |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpikeRateEscape {
    /// Steepness of the decay.
    pub beta: f64,
    /// The largest value.
    pub slope: f64,
}

impl Default for SpikeRateEscape {
    fn default() -> Self {
        Self {
            beta: 1.0,
            slope: 25.0,
        }
    }
}

impl Surrogate for SpikeRateEscape {
    spec!("spike_rate_escape");
    domains! { beta: Domain::above(0.0), slope: Domain::FINITE }

    fn derivative(&self, x: &Expr) -> Expr {
        self.slope * (-self.beta * (x - 1.0).abs()).exp()
    }
}
