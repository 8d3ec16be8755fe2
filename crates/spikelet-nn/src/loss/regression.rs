//! Errors of values.

use super::target::one_hot;
use spikelet_graph::Var;

/// Mean squared error of two tensors of one shape.
pub fn mean_squared_error(given: &Var, target: &Var) -> Var {
    (given - target).square().mean_all()
}

/// Mean squared error of scores `[N, classes]` and one-hot labels i64 `[N]`.
pub fn mse(scores: &Var, labels: &Var) -> Var {
    mean_squared_error(scores, &one_hot(scores, labels, 0))
}
