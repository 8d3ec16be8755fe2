//! Bilinear leaky ReLU.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Steep around the threshold, a flat slope elsewhere.
///
/// g′(x) = a if |x| ≤ c, else b; g(x) = ax + ½ if |x| ≤ c, else bx ± (a − b)c + ½ with the sign of x
///
/// Source: SpikingFlow, `softbp.soft_pulse_function`. Its primitive goes through 0 at x = 0; here the offset of ½
/// makes g rise from 0 at −c to 1 at c with the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "bilinear_leaky_relu")]
pub struct BilinearLeakyRelu {
    /// Slope where |x| ≤ c.
    #[schema(default = 1.0, above = 0.0)]
    pub a: f64,
    /// Slope elsewhere.
    #[schema(default = 0.01, at_least = 0.0)]
    pub b: f64,
    /// Half the width of the steep piece.
    #[schema(default = 0.5, above = 0.0)]
    pub c: f64,
}

impl Surrogate for BilinearLeakyRelu {
    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.abs().le(self.c), self.a, self.b)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let rise = (self.a - self.b) * self.c;
        let outside = self.b * x + Expr::select(x.lt(0.0), 0.5 - rise, 0.5 + rise);
        Some(Expr::select(x.abs().le(self.c), self.a * x + 0.5, outside))
    }
}
