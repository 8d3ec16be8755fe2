//! Piecewise leaky ReLU.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Rectangle of area 1, a leak elsewhere.
///
/// | x | g′(x) | g(x) |
/// |---|---|---|
/// | x ≤ −w | c | cx + cw |
/// | \|x\| < w | 1/(2w) | x/(2w) + ½ |
/// | x ≥ w | c | cx − cw + 1 |
///
/// Source: Wu et al., Frontiers in Neuroscience 12:331, 2018; Huh & Sejnowski, Gradient descent for spiking neural
/// networks, NeurIPS 2018 (both with c = 0); SpikingJelly.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "piecewise_leaky_relu")]
pub struct PiecewiseLeakyRelu {
    /// Half the width of the ramp.
    #[schema(default = 1.0, above = 0.0)]
    pub w: f64,
    /// Slope elsewhere.
    #[schema(default = 0.01, at_least = 0.0)]
    pub c: f64,
}

impl Surrogate for PiecewiseLeakyRelu {
    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.abs().lt(self.w), 0.5 / self.w, self.c)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let cw = self.c * self.w;
        let outside = self.c * x + Expr::select(x.lt(0.0), cw, 1.0 - cw);
        let ramp = x * (0.5 / self.w) + 0.5;
        Some(Expr::select(x.abs().lt(self.w), ramp, outside))
    }
}
