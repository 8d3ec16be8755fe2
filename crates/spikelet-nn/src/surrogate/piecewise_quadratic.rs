//! Piecewise quadratic.
//!
//! | x | g′(x) | g(x) |
//! |---|---|---|
//! | x < −1/α | 0 | 0 |
//! | \|x\| ≤ 1/α | α − α²\|x\| | ½ + αx − ½α²\|x\|x |
//! | x > 1/α | 0 | 1 |
//!
//! Source: Esser et al., Convolutional networks for fast, energy-efficient neuromorphic computing,
//! PNAS 2016; Bellec et al., Long short-term memory and learning-to-learn in networks of spiking
//! neurons, NeurIPS 2018.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// A triangle.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 1 | height of the triangle; its half width is 1/α |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[doc(alias = "Triangle")]
pub struct PiecewiseQuadratic {
    /// Height of the triangle; its half width is 1/α.
    pub alpha: f64,
}

impl Default for PiecewiseQuadratic {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Surrogate for PiecewiseQuadratic {
    spec!("piecewise_quadratic");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let distance = x.abs();
        let slope = self.alpha - self.alpha.powi(2) * &distance;
        Expr::select(distance.gt(1.0 / self.alpha), 0.0, slope)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let distance = x.abs();
        let curve = 0.5 + self.alpha * x - 0.5 * self.alpha.powi(2) * &distance * x;
        Some(Expr::select(
            distance.gt(1.0 / self.alpha),
            x.ge(0.0),
            curve,
        ))
    }
}
