//! SuperSpike.
//!
//! g′(x) = α / (1 + |x|)². There is no primitive.
//!
//! Source: Zenke & Ganguli, SuperSpike: Supervised learning in multilayer spiking neural networks,
//! Neural Computation 2018.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// The scaled derivative of a fast sigmoid.
///
/// | field | default | |
/// |---|---|---|
/// | `alpha` | 1 | largest derivative |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuperSpike {
    /// Largest derivative.
    pub alpha: f64,
}

impl Default for SuperSpike {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Surrogate for SuperSpike {
    spec!("super_spike");
    domains! { alpha: Domain::above(0.0) }

    fn derivative(&self, x: &Expr) -> Expr {
        let d = 1.0 + x.abs();
        self.alpha / (&d * &d)
    }
}
