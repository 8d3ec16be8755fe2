//! Errors of values: squared, absolute, and between the two.

use super::target::{Range, expect_constant, expect_same_shape, reject};
use spikelet_graph::{DType, Var};

/// Mean squared error of two tensors of one shape, PyTorch's `MSELoss`. For labels of classes use
/// [`mse_one_hot`](super::mse_one_hot()).
#[doc(alias = "mean_squared_error")]
pub fn mse(given: &Var, target: &Var) -> Var {
    if target.ty().dtype == DType::I64 {
        reject(
            "mean squared error",
            given,
            "the target has integers, `mse` is for values",
            format!("{} and target {}", given.ty(), target.ty()),
            "use `mse_one_hot` for labels of classes",
        );
        return given.square().mean_all();
    }
    expect_same_shape("mean squared error", given, target);
    (given - target).square().mean_all()
}

/// Mean absolute error of two tensors of one shape, PyTorch's `L1Loss`.
#[doc(alias = "mean_absolute_error")]
pub fn l1(given: &Var, target: &Var) -> Var {
    expect_same_shape("L1", given, target);
    (given - target).abs().mean_all()
}

/// Huber loss of two tensors of one shape: d²/2 where |d| ≤ δ, δ·(|d| − δ/2) elsewhere; δ > 0.
///
/// Source: P. J. Huber, *Robust estimation of a location parameter*, 1964; PyTorch's `HuberLoss`.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let [y, target] = ["y", "target"].map(|name| tracer.input(name, DType::F32, [32, 1]));
/// assert!(loss::huber(&y, &target, 1.0).shape().is_empty());
/// ```
pub fn huber(given: &Var, target: &Var, delta: f64) -> Var {
    expect_same_shape("Huber", given, target);
    expect_constant("Huber", given, "delta", delta, &Range::POSITIVE);
    let terms = Var::map(&[given, target], |v| {
        let d = &v[0] - &v[1];
        // c is d clamped to [−δ, δ]: c·(d − c/2) is both branches, with the derivative c.
        let c = d.clamp(-delta, delta);
        &c * (&d - &c * 0.5)
    });
    terms.mean_all()
}

/// Smooth L1 loss of two tensors of one shape: d²/(2β) where |d| < β, |d| − β/2 elsewhere; β > 0. It is the Huber
/// loss divided by its δ.
///
/// Source: R. Girshick, *Fast R-CNN*, ICCV 2015; PyTorch's `SmoothL1Loss`.
pub fn smooth_l1(given: &Var, target: &Var, beta: f64) -> Var {
    expect_constant("smooth L1", given, "beta", beta, &Range::POSITIVE);
    huber(given, target, beta) / beta
}
