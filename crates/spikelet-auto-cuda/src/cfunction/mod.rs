//! Statements and expressions for `float` and `half2`.
//!
//! Each function prints one operation. Given a target, such as `y[index]` or `const float a`, it
//! prints a statement that ends with a semicolon; given `None`, the bare expression in brackets.
//! Operands are texts; they get brackets if they need them. Some are evaluated twice, so they should have
//! no side effects.
//!
//! Texts that the auto_cuda reference prints are printed identically. Otherwise:
//!
//! - Constants are exact, in hexadecimal if decimals are not; α of a sigmoid is decimal, as in the reference.
//! - Comparisons are 1 or 0, and 0 with a NaN on either side. The exception is [`heaviside`] in
//!   `half2`, whose text the reference prints with `__hgeu2`: there NaN gives 1.
//! - [`if_else`] and [`if_else_else`] multiply with their masks, as the reference prints them: an
//!   infinity or NaN on the side that is not chosen makes the result NaN. [`select`] is a true selection.
//! - Functions that would lose precision in `half` are computed in `float` for each of the two elements
//!   and rounded once.
//!
//! ```
//! use spikelet_auto_cuda::{Dtype, cfunction};
//! assert_eq!(cfunction::add("z", "x", "y", Dtype::Float), "z = x + y;");
//! assert_eq!(cfunction::add(None, "x", "-y", Dtype::Half2), "(__hadd2(x, -y))");
//! ```

mod arithmetic;
mod backward;
mod choice;
mod exponential;

pub use arithmetic::{abs, add, constant, div, mul, neg, sub};
pub use backward::{
    atan_backward, bilinear_leaky_relu_backward, deterministic_pass_backward, erf_backward,
    fake_numerical_gradient_backward, leaky_k_relu_backward, log_tailed_relu_backward,
    nonzero_sign_log_abs_backward, piecewise_exp_backward, piecewise_leaky_relu_backward,
    piecewise_quadratic_backward, q_pseudo_spike_backward, rect_backward, s2nn_backward,
    sigmoid_backward, sign_swish_backward, soft_sign_backward, squarewave_fourier_series_backward,
    super_spike_backward,
};
pub use choice::{
    greater_equal, greater_than, heaviside, if_else, if_else_else, maximum, minimal, select,
    select_select,
};
pub use exponential::{exp, power, sigmoid};

use super::Dtype;
use super::operand::{argument, bracketed};

/// `y = codes;`, or `(codes)` without a target.
pub fn wrap_return_codes<'a>(y: impl Into<Option<&'a str>>, codes: &str) -> String {
    match y.into() {
        Some(y) => format!("{y} = {codes};"),
        None => format!("({codes})"),
    }
}

/// An operator for `float`, or the intrinsic function for `half2`.
fn infix(x: &str, sign: &str, y: &str, intrinsic: &str, dtype: Dtype) -> String {
    match dtype {
        Dtype::Float => format!("{} {sign} {}", bracketed(x), bracketed(y)),
        Dtype::Half2 => call(intrinsic, &[x, y]),
    }
}

/// A call of the function for `float`, or of the intrinsic function for `half2`.
fn call_of([float, half2]: [&str; 2], arguments: &[&str], dtype: Dtype) -> String {
    match dtype {
        Dtype::Float => call(float, arguments),
        Dtype::Half2 => call(half2, arguments),
    }
}

/// A call of an intrinsic function.
fn call(function: &str, arguments: &[&str]) -> String {
    let arguments: Vec<_> = arguments.iter().map(|text| argument(text)).collect();
    format!("{function}({})", arguments.join(", "))
}

/// A pair whose elements are printed by `of` for the elements of the operands.
fn lanes<const N: usize>(operands: [&str; N], of: impl Fn([String; N]) -> String) -> String {
    let lane = |function| of(operands.map(|text| call(function, &[text])));
    format!(
        "__floats2half2_rn({}, {})",
        lane("__low2float"),
        lane("__high2float")
    )
}
