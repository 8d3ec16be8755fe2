//! Derivative of a circular sigmoid.
//!
//! g(x) = α·(1 + x/√(x² + α²)), g′(x) = α³ / (x² + α²)^(3/2)
//!
//! Source: Norse's `circ`, with its factor 2α: 1 at the threshold.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Derivative of x/√(x² + α²), 1 at the threshold.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 1 | width |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Circ {
    /// Width.
    pub alpha: f64,
}

impl Default for Circ {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Surrogate for Circ {
    spec!("circ");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let u = x / self.alpha;
        let square = 1.0 + &u * &u;
        1.0 / (&square * square.sqrt())
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        // Beyond these limits u/√(1 + u²) rounds to ±1; its square could overflow.
        let u = (x / self.alpha).max(-1e9).min(1e9);
        Some(self.alpha * (&u / (1.0 + &u * &u).sqrt() + 1.0))
    }
}
