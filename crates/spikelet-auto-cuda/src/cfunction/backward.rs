//! Derivatives of surrogate functions, as the backward pass uses them.
//!
//! Each function prints statements that give `y` the derivative g′(x); x is the distance from the
//! threshold. [`sigmoid_backward`] in `float` is the reference's text. The others are printed from
//! their formulas as [`ExprSurrogate`] prints any derivative: selection is a true selection, and
//! `half2` is computed in `float` and rounded once.

use super::exponential::decimal;
use super::sigmoid;
use crate::{Dtype, ExprSurrogate, SurrogateCodes};
use spikelet_expr::Expr;
use std::f64::consts::{FRAC_2_SQRT_PI, FRAC_PI_2, TAU};

fn codes(y: &str, x: &str, dtype: Dtype, derivative: impl FnOnce(&Expr) -> Expr) -> String {
    ExprSurrogate::new(derivative)
        .expect("these derivatives depend on their argument only")
        .cuda_codes(y, x, dtype)
}

/// y = α·σ(αx)·(1 − σ(αx))
pub fn sigmoid_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    if dtype == Dtype::Half2 {
        return codes(y, x, dtype, |x| {
            let s = (x * alpha).sigmoid();
            alpha * &s * (1.0 - s)
        });
    }
    let ax = "sigmoid_backward__sigmoid_ax";
    let first = sigmoid(format!("const float {ax}").as_str(), x, alpha, dtype);
    let alpha = decimal(alpha);
    format!("{first}\n{y} = (1.0f - {ax}) * {ax} * {alpha};")
}

/// y = (α/2) / (1 + (π/2·αx)²)
pub fn atan_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        let u = x * (FRAC_PI_2 * alpha);
        0.5 * alpha / (1.0 + &u * &u)
    })
}

/// y = 1/(2w) where |x| < w, else c
pub fn piecewise_leaky_relu_backward(y: &str, x: &str, w: f64, c: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| Expr::select(x.abs().lt(w), 0.5 / w, c))
}

/// y = α·σ(αx)·(1 − σ(αx)) where x < 0, else β/(x + 1)
pub fn s2nn_backward(y: &str, x: &str, alpha: f64, beta: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        let s = (x * alpha).sigmoid();
        Expr::select(x.lt(0.0), alpha * &s * (1.0 - s), beta / (x + 1.0))
    })
}

/// y = (1 + 2|x|/(α − 1))^(−α)
pub fn q_pseudo_spike_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        let base = 1.0 + x.abs() * (2.0 / (alpha - 1.0));
        let square = &base * &base;
        // Products are cheaper than a power, and as accurate.
        match alpha {
            2.0 => 1.0 / square,
            3.0 => 1.0 / (square * base),
            4.0 => 1.0 / (&square * &square),
            _ => base.pow(-alpha),
        }
    })
}

/// y = k where x ≥ 0, else leak
pub fn leaky_k_relu_backward(y: &str, x: &str, leak: f64, k: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| Expr::select(x.ge(0.0), k, leak))
}

/// y = min(1/|x|, α), α at 0
pub fn fake_numerical_gradient_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    // 1/0 is ∞, and the bound is what remains.
    codes(y, x, dtype, |x| (1.0 / x.abs()).min(alpha))
}

/// y = α where x ≤ 0, 1 where x ≤ 1, else 1/x
pub fn log_tailed_relu_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        let above = Expr::select(x.le(1.0), 1.0, 1.0 / x);
        Expr::select(x.le(0.0), alpha, above)
    })
}

/// y = α − α²|x| where |x| ≤ 1/α, else 0
pub fn piecewise_quadratic_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        let distance = x.abs();
        let slope = alpha - alpha.powi(2) * &distance;
        Expr::select(distance.gt(1.0 / alpha), 0.0, slope)
    })
}

/// y = (α/2)·e^(−α|x|)
pub fn piecewise_exp_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| (0.5 * alpha) * (x.abs() * -alpha).exp())
}

/// y = 1/(2α(1/α + |x|)²)
pub fn soft_sign_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        let d = x.abs() + 1.0 / alpha;
        0.5 / alpha / (&d * &d)
    })
}

/// y = α/(1 + |x|)²
pub fn super_spike_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        let d = 1.0 + x.abs();
        alpha / (&d * &d)
    })
}

/// y = 1/(1/α + |x|)
pub fn nonzero_sign_log_abs_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| 1.0 / (x.abs() + 1.0 / alpha))
}

/// y = α/√π·e^(−α²x²)
pub fn erf_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        let u = x * alpha;
        (0.5 * FRAC_2_SQRT_PI * alpha) * (-(&u * &u)).exp()
    })
}

/// y = (4/T)·Σ cos((2i − 1)2πx/T) for i from 1 to n − 1; T is `t_period`
pub fn squarewave_fourier_series_backward(
    y: &str,
    x: &str,
    n: u32,
    t_period: f64,
    dtype: Dtype,
) -> String {
    codes(y, x, dtype, |x| {
        // Less the whole periods, so that far out the angles stay accurate.
        let turns = x / t_period;
        let turns = &turns - turns.round();
        let term = |i| (&turns * (TAU * (2.0 * f64::from(i) - 1.0))).cos();
        let sum = (1..n).fold(Expr::constant(0.0), |sum, i| sum + term(i));
        (4.0 / t_period) * sum
    })
}

/// y = α where |x| < 1/(2α), else 0
pub fn rect_backward(y: &str, x: &str, alpha: f64, dtype: Dtype) -> String {
    codes(y, x, dtype, |x| {
        Expr::select(x.abs().lt(0.5 / alpha), alpha, 0.0)
    })
}

/// y = 1: straight through, as for surrogates that pass a probability or a value.
pub fn deterministic_pass_backward(y: &str, x: &str, dtype: Dtype) -> String {
    codes(y, x, dtype, |_| Expr::constant(1.0))
}

/// y = a where |x| ≤ c, else b
pub fn bilinear_leaky_relu_backward(
    y: &str,
    x: &str,
    a: f64,
    b: f64,
    c: f64,
    dtype: Dtype,
) -> String {
    codes(y, x, dtype, |x| Expr::select(x.abs().le(c), a, b))
}

/// y = β(2 − βx·tanh(βx/2))/(1 + cosh βx)
pub fn sign_swish_backward(y: &str, x: &str, beta: f64, dtype: Dtype) -> String {
    // Beyond this e⁻ᵘ is 0; the bound keeps an overflown u from making 0·∞ of it.
    const FLAT: f64 = 1e4;
    codes(y, x, dtype, |x| {
        // With e = e⁻ᵘ for u ≥ 0: tanh(u/2) = (1 − e)/(1 + e), 1 + cosh u = (1 + e)²/(2e).
        let u = (x * beta).abs().min(FLAT);
        let e = (-&u).exp();
        let r = 1.0 / (1.0 + &e);
        (2.0 * beta) * &e * (&r * &r) * (2.0 - u * ((1.0 - e) * r))
    })
}
