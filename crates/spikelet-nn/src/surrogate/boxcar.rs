//! Boxcar.
//!
//! g(x) = clamp(αx + ½, 0, 1), g′(x) = α if −½/α < x ≤ ½/α, else 0
//!
//! It differs from the rectangle at one point: the upper edge belongs to the box.
//!
//! Source: Bittar & Garner, A surrogate gradient spiking baseline for speech command recognition, Frontiers in
//! Neuroscience 16:865897, 2022 (sparch).

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// A rectangle of area 1 that includes its upper edge.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 1 | height; its width is 1/α |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boxcar {
    /// Height; its width is 1/α.
    pub alpha: f64,
}

impl Default for Boxcar {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Surrogate for Boxcar {
    spec!("boxcar");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let edge = 0.5 / self.alpha;
        let below = Expr::select(x.le(edge), self.alpha, 0.0);
        Expr::select(x.gt(-edge), below, 0.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        Some((x * self.alpha + 0.5).clamp(0.0, 1.0))
    }
}
