//! Arc tangent.
//!
//! g(x) = atan(π/2·αx)/π + ½, g′(x) = (α/2) / (1 + (π/2·αx)²)
//!
//! Source: Fang et al., Incorporating learnable membrane time constant to enhance learning of
//! spiking neural networks, ICCV 2021.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;
use std::f64::consts::{FRAC_1_PI, FRAC_PI_2};

/// Derivative of the arc tangent.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 2 | steepness; larger is closer to the step |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Atan {
    /// Steepness.
    pub alpha: f64,
}

impl Atan {
    /// The surrogate with this steepness.
    pub fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

impl Default for Atan {
    fn default() -> Self {
        Self { alpha: 2.0 }
    }
}

impl Surrogate for Atan {
    spec!("atan");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let u = x * (FRAC_PI_2 * self.alpha);
        0.5 * self.alpha / (1.0 + &u * &u)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some((x * (FRAC_PI_2 * self.alpha)).atan() * FRAC_1_PI + 0.5)
    }
}
