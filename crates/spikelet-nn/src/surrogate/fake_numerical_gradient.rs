//! Fake numerical gradient.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// 1/|x|, held below a bound.
///
/// g′(x) = min(sgn(x)/x, α), α at 0: the slope of the chord of sgn from 0 to x, at most α. There is no primitive.
///
/// Source: SpikingJelly, `surrogate.FakeNumericalGradient`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "fake_numerical_gradient")]
pub struct FakeNumericalGradient {
    /// Largest derivative.
    #[schema(default = 0.3, above = 0.0)]
    pub alpha: f64,
}

impl Surrogate for FakeNumericalGradient {
    fn derivative(&self, x: &Expr) -> Expr {
        // sgn(x)/x = 1/|x|; at 0 it is ∞, and the result is the bound.
        (1.0 / x.abs()).min(self.alpha)
    }
}
