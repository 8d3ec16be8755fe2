//! Fake numerical gradient.
//!
//! g′(x) = min(sgn(x)/x, α), α at 0: the slope of the chord of sgn from 0 to x, at most α.
//! There is no primitive.
//!
//! Source: SpikingJelly, `surrogate.FakeNumericalGradient`.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// 1/|x|, at most α.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 0.3 | largest derivative |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FakeNumericalGradient {
    /// Largest derivative.
    pub alpha: f64,
}

impl Default for FakeNumericalGradient {
    fn default() -> Self {
        Self { alpha: 0.3 }
    }
}

impl Surrogate for FakeNumericalGradient {
    spec!("fake_numerical_gradient");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        // sgn(x)/x = 1/|x|; at 0 it is ∞, and the result is the bound.
        (1.0 / x.abs()).min(self.alpha)
    }
}
