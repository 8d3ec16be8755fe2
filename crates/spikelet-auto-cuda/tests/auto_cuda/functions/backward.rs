//! The derivatives of surrogates.

use super::{Case, line, one};
use spikelet_auto_cuda::cfunction as c;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

fn sigmoid_slope(alpha: f64, x: f64) -> f64 {
    // The larger of σ and 1 − σ is not made as a difference.
    let small = 1.0 / (1.0 + (alpha * x).abs().exp());
    alpha * small * (1.0 - small)
}

pub fn cases() -> Vec<Case> {
    vec![
        one(
            "sigmoid_backward",
            |y, x, t| c::sigmoid_backward(y, x, 4.0, t),
            |x| sigmoid_slope(4.0, x),
            &[],
        ),
        one(
            "atan_backward",
            |y, x, t| c::atan_backward(y, x, 2.0, t),
            |x| 1.0 / (1.0 + (FRAC_PI_2 * 2.0 * x).powi(2)),
            &[],
        ),
        one(
            "piecewise_leaky_relu_backward",
            |y, x, t| c::piecewise_leaky_relu_backward(y, x, 0.75, 0.01, t),
            |x| if x.abs() < 0.75 { 1.0 / 1.5 } else { 0.01 },
            &[0.75],
        ),
        one(
            "s2nn_backward",
            |y, x, t| c::s2nn_backward(y, x, 4.0, 1.0, t),
            |x| {
                if x < 0.0 {
                    sigmoid_slope(4.0, x)
                } else {
                    1.0 / (x + 1.0)
                }
            },
            &[1.0],
        ),
        one(
            "q_pseudo_spike_backward, 2",
            |y, x, t| c::q_pseudo_spike_backward(y, x, 2.0, t),
            |x| (1.0 + 2.0 * x.abs()).powi(-2),
            &[],
        ),
        one(
            "q_pseudo_spike_backward, 3.5",
            |y, x, t| c::q_pseudo_spike_backward(y, x, 3.5, t),
            |x| (1.0 + 2.0 * x.abs() / 2.5).powf(-3.5),
            &[],
        ),
        one(
            "leaky_k_relu_backward",
            |y, x, t| c::leaky_k_relu_backward(y, x, 0.2, 1.5, t),
            |x| if x >= 0.0 { 1.5 } else { 0.2 },
            &[],
        ),
        one(
            "fake_numerical_gradient_backward",
            |y, x, t| c::fake_numerical_gradient_backward(y, x, 0.3, t),
            |x| match x {
                x if x.is_nan() => x,
                x => (1.0 / x.abs()).min(0.3),
            },
            &[1.0 / 0.3],
        ),
        one(
            "log_tailed_relu_backward",
            |y, x, t| c::log_tailed_relu_backward(y, x, 0.25, t),
            |x| match x {
                x if x <= 0.0 => 0.25,
                x if x <= 1.0 => 1.0,
                x => 1.0 / x,
            },
            &[1.0],
        ),
        one(
            "piecewise_quadratic_backward",
            |y, x, t| c::piecewise_quadratic_backward(y, x, 2.0, t),
            |x| {
                if x.abs() > 0.5 {
                    0.0
                } else {
                    2.0 - 4.0 * x.abs()
                }
            },
            &[0.5],
        ),
        one(
            "piecewise_exp_backward",
            |y, x, t| c::piecewise_exp_backward(y, x, 2.0, t),
            |x| (-2.0 * x.abs()).exp(),
            &[],
        ),
        one(
            "soft_sign_backward",
            |y, x, t| c::soft_sign_backward(y, x, 2.0, t),
            |x| 1.0 / (4.0 * (0.5 + x.abs()).powi(2)),
            &[],
        ),
        one(
            "super_spike_backward",
            |y, x, t| c::super_spike_backward(y, x, 1.5, t),
            |x| 1.5 / (1.0 + x.abs()).powi(2),
            &[],
        ),
        one(
            "nonzero_sign_log_abs_backward",
            |y, x, t| c::nonzero_sign_log_abs_backward(y, x, 2.0, t),
            |x| 1.0 / (0.5 + x.abs()),
            &[],
        ),
        one(
            "erf_backward",
            |y, x, t| c::erf_backward(y, x, 2.0, t),
            |x| 2.0 / PI.sqrt() * (-4.0 * x * x).exp(),
            &[],
        ),
        Case {
            // Far out a float has no digits of the angle left.
            points: line(&[2.0, 4.0, 8.0])
                .into_iter()
                .filter(|x| !x[0].is_finite() || x[0].abs() < 100.0)
                .collect(),
            ..one(
                "squarewave_fourier_series_backward",
                |y, x, t| c::squarewave_fourier_series_backward(y, x, 3, 8.0, t),
                |x| 0.5 * ((TAU * x / 8.0).cos() + (3.0 * TAU * x / 8.0).cos()),
                &[],
            )
        },
        one(
            "rect_backward",
            |y, x, t| c::rect_backward(y, x, 2.0, t),
            |x| if x.abs() < 0.25 { 2.0 } else { 0.0 },
            &[0.25],
        ),
        one(
            "deterministic_pass_backward",
            c::deterministic_pass_backward,
            |_| 1.0,
            &[],
        ),
        one(
            "bilinear_leaky_relu_backward",
            |y, x, t| c::bilinear_leaky_relu_backward(y, x, 1.0, 0.01, 0.5, t),
            |x| if x.abs() <= 0.5 { 1.0 } else { 0.01 },
            &[0.5],
        ),
        one(
            "sign_swish_backward",
            |y, x, t| c::sign_swish_backward(y, x, 5.0, t),
            |x| match 5.0 * x {
                u if u.is_nan() => u,
                // The quotient of two infinities.
                u if u.abs() > 700.0 => 0.0,
                u => 5.0 * (2.0 - u * (u / 2.0).tanh()) / (1.0 + u.cosh()),
            },
            &[],
        ),
    ]
}
