//! Bilinear leaky ReLU.
//!
//! g′(x) = a if |x| ≤ c, else b;
//! g(x) = ax + ½ if |x| ≤ c, else bx ± (a − b)c + ½ with the sign of x
//!
//! Source: SpikingFlow, `softbp.soft_pulse_function`. Its primitive goes through 0 at x = 0; here
//! The offset of ½ makes g rise from 0 at −c to 1 at c with the defaults.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// A steep slope around the threshold, a flat slope elsewhere.
///
/// | field | default | |
/// |---|---|---|
/// | `a` | 1 | slope where \|x\| ≤ c |
/// | `b` | 0.01 | slope elsewhere |
/// | `c` | 0.5 | half the width of the steep piece |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BilinearLeakyRelu {
    /// Slope where |x| ≤ c.
    pub a: f64,
    /// Slope elsewhere.
    pub b: f64,
    /// Half the width of the steep piece.
    pub c: f64,
}

impl Default for BilinearLeakyRelu {
    fn default() -> Self {
        Self {
            a: 1.0,
            b: 0.01,
            c: 0.5,
        }
    }
}

impl Surrogate for BilinearLeakyRelu {
    spec!("bilinear_leaky_relu");
    domains! { a: Domain::above(0.0), b: Domain::at_least(0.0), c: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.abs().le(self.c), self.a, self.b)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let rise = (self.a - self.b) * self.c;
        let outside = self.b * x + Expr::select(x.lt(0.0), 0.5 - rise, 0.5 + rise);
        Some(Expr::select(x.abs().le(self.c), self.a * x + 0.5, outside))
    }
}
