//! Sparse fast sigmoid.
//!
//! g′(x) = 1 / (1 + slope·|x|)² if x > b, else 0
//!
//! Source: Perez-Nieves and Goodman, Sparse spiking gradient descent, NeurIPS 2021; the form is that of snnTorch's `SFS`.

use super::Surrogate;
use crate::domain::{Domain, domains};
use crate::registry::spec;
use serde::{Deserialize, Serialize};
use spikelet_expr::Expr;

/// Derivative of a fast sigmoid above a bound, 0 elsewhere.
///
/// | field | default | |
/// |---|---|---|
/// | `slope` | 25 | steepness |
/// | `b` | 1 | the bound |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SparseFastSigmoid {
    /// Steepness.
    pub slope: f64,
    /// The bound, below which the derivative is 0.
    pub b: f64,
}

impl Default for SparseFastSigmoid {
    fn default() -> Self {
        Self {
            slope: 25.0,
            b: 1.0,
        }
    }
}

impl Surrogate for SparseFastSigmoid {
    spec!("sparse_fast_sigmoid");
    domains! { slope: Domain::above(0.0), b: Domain::FINITE }

    fn derivative(&self, x: &Expr) -> Expr {
        let u = self.slope * x.abs() + 1.0;
        Expr::select(x.gt(self.b), 1.0 / (&u * &u), 0.0)
    }
}
