//! Piecewise leaky ReLU.
//!
//! | x | g′(x) | g(x) |
//! |---|---|---|
//! | x ≤ −w | c | cx + cw |
//! | \|x\| < w | 1/(2w) | x/(2w) + ½ |
//! | x ≥ w | c | cx − cw + 1 |
//!
//! Source: Wu et al., Frontiers in Neuroscience 12:331, 2018; Huh & Sejnowski, Gradient descent for
//! spiking neural networks, NeurIPS 2018 (both with c = 0); SpikingJelly.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// A ramp of width 2w and area 1, a leak elsewhere.
///
/// | field | default | |
/// |---|---|---|
/// | `w` | 1 | half the width of the ramp |
/// | `c` | 0.01 | slope elsewhere |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PiecewiseLeakyRelu {
    /// Half the width of the ramp.
    pub w: f64,
    /// Slope outside the ramp.
    pub c: f64,
}

impl Default for PiecewiseLeakyRelu {
    fn default() -> Self {
        Self { w: 1.0, c: 0.01 }
    }
}

impl Surrogate for PiecewiseLeakyRelu {
    spec!("piecewise_leaky_relu");
    domains! { w: Domain::above(0.0), c: Domain::at_least(0.0) }

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
