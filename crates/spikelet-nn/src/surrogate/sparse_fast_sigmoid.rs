//! Sparse fast sigmoid.

use super::Surrogate;
use spikelet_expr::Expr;
use spikelet_schema::Schema;

/// Derivative of a fast sigmoid above a bound, 0 elsewhere.
///
/// g′(x) = 1 / (1 + slope·|x|)² if x > b, else 0
///
/// Source: Perez-Nieves and Goodman, Sparse spiking gradient descent, NeurIPS 2021; the form is that of snnTorch's
/// `SFS`.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "sparse_fast_sigmoid")]
pub struct SparseFastSigmoid {
    /// Steepness.
    #[schema(default = 25.0, above = 0.0)]
    pub slope: f64,
    /// The bound.
    #[schema(default = 1.0)]
    pub b: f64,
}

impl Surrogate for SparseFastSigmoid {
    fn derivative(&self, x: &Expr) -> Expr {
        let u = self.slope * x.abs() + 1.0;
        Expr::select(x.gt(self.b), 1.0 / (&u * &u), 0.0)
    }
}
