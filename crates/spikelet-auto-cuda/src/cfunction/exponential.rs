//! Exponentials, powers and the logistic function.

use super::{Dtype, call, constant, lanes, wrap_return_codes};
use crate::operand::bracketed;

/// y = eˣ
pub fn exp<'a>(y: impl Into<Option<&'a str>>, x: &str, dtype: Dtype) -> String {
    let codes = match dtype {
        Dtype::Float => call("expf", &[x]),
        Dtype::Half2 => lanes([x], |[x]| call("expf", &[&x])),
    };
    wrap_return_codes(y, &codes)
}

/// z = x to the power y
pub fn power<'a>(z: impl Into<Option<&'a str>>, x: &str, y: &str, dtype: Dtype) -> String {
    let codes = match dtype {
        Dtype::Float => call("powf", &[x, y]),
        Dtype::Half2 => lanes([x, y], |[x, y]| call("powf", &[&x, &y])),
    };
    wrap_return_codes(z, &codes)
}

/// y = σ(αx) = 1 / (1 + e^(−αx))
pub fn sigmoid<'a>(y: impl Into<Option<&'a str>>, x: &str, alpha: f64, dtype: Dtype) -> String {
    let alpha = decimal(alpha);
    let of = |x: &str| format!("1.0f / (1.0f + expf(- {alpha} * {}))", bracketed(x));
    let codes = match dtype {
        Dtype::Float => of(x),
        Dtype::Half2 => lanes([x], |[x]| of(&x)),
    };
    wrap_return_codes(y, &codes)
}

/// A constant in brackets, with the decimal digits that the reference prints; the compiler rounds them to f32.
pub(super) fn decimal(x: f64) -> String {
    if !(x as f32).is_finite() {
        return constant(None, x, Dtype::Float);
    }
    let text = format!("{x:?}");
    match text.split_once('e') {
        None => format!("({text}f)"),
        // An exponent has a sign and two digits, as in Python.
        Some((digits, exponent)) => {
            let (sign, size) = match exponent.strip_prefix('-') {
                Some(size) => ('-', size),
                None => ('+', exponent),
            };
            format!("({digits}e{sign}{size:0>2}f)")
        }
    }
}
