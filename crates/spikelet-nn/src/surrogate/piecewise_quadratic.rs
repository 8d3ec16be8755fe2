//! Piecewise quadratic.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Triangle of area 1.
///
/// | x | g′(x) | g(x) |
/// |---|---|---|
/// | x < −1/α | 0 | 0 |
/// | \|x\| ≤ 1/α | α − α²\|x\| | ½ + αx − ½α²\|x\|x |
/// | x > 1/α | 0 | 1 |
///
/// Source: Esser et al., Convolutional networks for fast, energy-efficient neuromorphic computing, PNAS 2016; Bellec
/// et al., Long short-term memory and learning-to-learn in networks of spiking neurons, NeurIPS 2018.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "piecewise_quadratic")]
#[doc(alias = "Triangle")]
pub struct PiecewiseQuadratic {
    /// Height of the triangle; its half width is 1/α.
    #[schema(default = 1.0, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for PiecewiseQuadratic {
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
