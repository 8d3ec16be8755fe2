//! Rectangle.
//!
//! g(x) = clamp(αx + ½, 0, 1), g′(x) = α if |x| < ½/α, else 0
//!
//! Source: Wu et al., Frontiers in Neuroscience 12:331, 2018.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// A rectangle of area 1.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 1 | height; its width is 1/α |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rect {
    /// Height; its width is 1/α.
    pub alpha: f64,
}

impl Default for Rect {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Surrogate for Rect {
    spec!("rect");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        Expr::select(x.abs().lt(0.5 / self.alpha), self.alpha, 0.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some((x * self.alpha + 0.5).clamp(0.0, 1.0))
    }
}
