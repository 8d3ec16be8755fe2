//! Expressions and elementary functions as CUDA C++ text.
//!
//! [`statements`] prints expressions as straight-line code, [`library`] the functions that the
//! code calls. Compiled with `--fmad=false --ftz=false --prec-div=true --prec-sqrt=true`
//! (`--std=c++17`, no headers), the code gives the bits of [`Program`](crate::Program) in f32; only
//! the sign and payload of a NaN are unspecified.
//!
//! ```
//! use spikelet_expr::{Expr, cuda};
//! let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
//! let h = &v + (x - &v).tanh() / 3.0;
//! let printed = cuda::statements(&[h], &|name| Some(name.to_string()), "t", 4)?;
//! assert!(printed.code.starts_with("    const float t0 = x - v;\n    const float t1 = spk_tanh(t0);"));
//! assert_eq!(printed.results, ["t3"]);
//! assert!(cuda::library(&printed.functions).contains("float spk_tanh(float x)"));
//! # Ok::<(), spikelet_expr::CompileError>(())
//! ```

use super::literal::finite;
use super::{Approximate, Builtin, Dialect, Rounding, print};
use crate::expr::Expr;
use crate::program::CompileError;
use std::collections::BTreeSet;

pub use super::functions::{Function, called};
pub use super::statements::Statements;

/// CUDA C++, for NVRTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cuda;

impl Dialect for Cuda {
    fn prelude(&self) -> &'static str {
        ""
    }

    fn literal(&self, value: f32) -> String {
        literal(value)
    }

    fn builtin(&self, function: Builtin) -> &'static str {
        match function {
            Builtin::Sqrt => "__fsqrt_rn",
            Builtin::Abs => "fabsf",
            Builtin::Round => "rintf",
            Builtin::Floor => "floorf",
        }
    }

    fn approximate(&self, operation: Approximate<'_>) -> Option<String> {
        Some(match operation {
            Approximate::Exp(x) => format!("__expf({x})"),
            Approximate::Sigmoid(x) => format!("__fdividef(1.0f, 1.0f + __expf(-({x})))"),
            Approximate::Div(a, b) => format!("__fdividef({a}, {b})"),
            Approximate::MulAdd(a, b, c) => format!("__fmaf_rn({a}, {b}, {c})"),
        })
    }
}

/// Prints expressions as C++ statements over `float`; equal subexpressions are computed once.
///
/// `names` gives the C++ expression of each symbol: an identifier, or an expression without side
/// effects that binds as tightly. Temporaries are named `prefix` and a number from 0. Each line
/// starts with `indent` spaces and ends with a line break.
///
/// The values have the bits of a [`Program`](crate::Program) in f32 (see the [module](self)). A
/// custom gradient has the value of its value side.
///
/// # Errors
/// [`CompileError::UnknownSymbol`] if `names` has no name for a symbol that the values depend on;
/// the error lists the symbols with names.
///
/// ```
/// use spikelet_expr::{Expr, cuda};
/// let (h, v_th) = (Expr::symbol("h"), Expr::symbol("v_th"));
/// let spike = h.ge(&v_th);
/// let reset = Expr::select(&spike, 0.0, &h);
/// let names = |name: &str| Some(name.replace("v_th", "threshold[0]"));
/// let printed = cuda::statements(&[spike, reset], &names, "t", 0)?;
/// assert_eq!(
///     printed.code,
///     "const bool t0 = h >= threshold[0];\n\
///      const float t1 = t0 ? 1.0f : 0.0f;\n\
///      const float t2 = t0 ? 0.0f : h;\n"
/// );
/// assert_eq!(printed.results, ["t1", "t2"]);
/// # Ok::<(), spikelet_expr::CompileError>(())
/// ```
pub fn statements(
    roots: &[Expr],
    names: &dyn Fn(&str) -> Option<String>,
    prefix: &str,
    indent: usize,
) -> Result<Statements, CompileError> {
    print(&Cuda, Rounding::Exact, roots, names, prefix, indent)
}

/// Like [`statements`], for values whose last bits do not matter, such as gradients: products and
/// sums become fused multiply-adds; quotients, exponentials and logistic functions use the
/// hardware's approximations (quotients within 2 ulp, 0 for divisors above 2¹²⁶; exponentials
/// within 2 + 1.2·|x| ulp).
///
/// # Errors
/// As [`statements`].
///
/// ```
/// use spikelet_expr::{Expr, cuda};
/// let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
/// let names = |name: &str| Some(name.to_string());
/// let printed = cuda::statements_approx(&[1.0 / (1.0 + &x * &y)], &names, "t", 0)?;
/// assert!(printed.code.contains("__fmaf_rn(x, y, 1.0f)"));
/// assert!(printed.code.contains("__fdividef(1.0f, "));
/// # Ok::<(), spikelet_expr::CompileError>(())
/// ```
pub fn statements_approx(
    roots: &[Expr],
    names: &dyn Fn(&str) -> Option<String>,
    prefix: &str,
    indent: usize,
) -> Result<Statements, CompileError> {
    print(&Cuda, Rounding::Approximate, roots, names, prefix, indent)
}

/// The text of the functions in `needed` and of those that they call, callees first.
///
/// It includes no headers and compiles with NVRTC as it is.
///
/// ```
/// use spikelet_expr::cuda::{Function, library};
/// let text = library(&[Function::Tanh].into());
/// assert!(text.find("float spk_exp(").unwrap() < text.find("float spk_tanh(").unwrap());
/// assert!(!text.contains("spk_erf"));
/// ```
pub fn library(needed: &BTreeSet<Function>) -> String {
    Cuda.library(needed)
}

/// An f32 as a C++ expression that binds as tightly as an identifier, except for a leading minus.
///
/// Decimal if the digits are exact, otherwise an integer hexadecimal significand and a power of
/// two; the bit pattern for infinities and NaN, which have no literals.
///
/// ```
/// use spikelet_expr::cuda::literal;
/// assert_eq!([4.0, 0.1].map(literal), ["4.0f", "0xcccccdp-27f"]);
/// ```
pub fn literal(value: f32) -> String {
    if value.is_nan() {
        return "__uint_as_float(0x7fc00000u)".to_string();
    }
    finite(value).unwrap_or_else(|| format!("__uint_as_float({:#010x}u)", value.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_a_literal_are_written_as_bits() {
        let texts = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN].map(literal);
        let bits = ["7f800000", "ff800000", "7fc00000"];
        assert_eq!(
            texts,
            bits.map(|bits| format!("__uint_as_float(0x{bits}u)"))
        );
    }
}
