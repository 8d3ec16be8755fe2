//! Arc tangent.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::f64::consts::{FRAC_1_PI, FRAC_PI_2};

/// Derivative of the arc tangent.
///
/// g(x) = atan(π/2·αx)/π + ½, g′(x) = (α/2) / (1 + (π/2·αx)²)
///
/// Source: Fang et al., Incorporating learnable membrane time constant to enhance learning of spiking neural networks,
/// ICCV 2021.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Atan {
    /// Steepness; larger is closer to the step.
    #[schema(default = 2.0, above = 0.0)]
    pub alpha: f64,
}

impl Atan {
    /// The surrogate with this steepness.
    pub fn new(alpha: f64) -> Self {
        Self { alpha }
    }
}

impl Surrogate for Atan {
    fn derivative(&self, x: &Expr) -> Expr {
        let u = x * (FRAC_PI_2 * self.alpha);
        0.5 * self.alpha / (1.0 + &u * &u)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some((x * (FRAC_PI_2 * self.alpha)).atan() * FRAC_1_PI + 0.5)
    }
}
