//! Error function.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;
use std::f64::consts::FRAC_2_SQRT_PI;

/// Gaussian: derivative of the error function.
///
/// g(x) = ½ erfc(−αx), g′(x) = α/√π · e^(−α²x²)
///
/// Source: Esser et al., Backpropagation for energy-efficient neuromorphic computing, NIPS 2015; Wu et al., Frontiers
/// in Neuroscience 12:331, 2018; Yin et al., Effective and efficient computation with multiple-timescale spiking
/// recurrent neural networks, ICONS 2020.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Erf {
    /// Steepness; larger is closer to the step.
    #[schema(default = 2.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for Erf {
    fn derivative(&self, x: &Expr) -> Expr {
        let u = x * self.alpha;
        (0.5 * FRAC_2_SQRT_PI * self.alpha) * (-(&u * &u)).exp()
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some(0.5 * (x * -self.alpha).erfc())
    }
}
