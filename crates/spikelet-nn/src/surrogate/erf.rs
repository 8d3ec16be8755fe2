//! Error function.
//!
//! g(x) = ½ erfc(−αx), g′(x) = α/√π · e^(−α²x²)
//!
//! Source: Esser et al., Backpropagation for energy-efficient neuromorphic computing, NIPS 2015;
//! Wu et al., Frontiers in Neuroscience 12:331, 2018; Yin et al., Effective and efficient
//! computation with multiple-timescale spiking recurrent neural networks, ICONS 2020.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;
use std::f64::consts::FRAC_2_SQRT_PI;

/// A Gaussian.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 2 | steepness; larger is closer to the step |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Erf {
    /// Steepness.
    pub alpha: f64,
}

impl Default for Erf {
    fn default() -> Self {
        Self { alpha: 2.0 }
    }
}

impl Surrogate for Erf {
    spec!("erf");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let u = x * self.alpha;
        (0.5 * FRAC_2_SQRT_PI * self.alpha) * (-(&u * &u)).exp()
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(0.5 * (x * -self.alpha).erfc())
    }
}
