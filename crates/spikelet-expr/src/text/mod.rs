//! Expressions and elementary functions as text of a kernel language.
//!
//! [`print()`] writes expressions as straight-line code. A [`Dialect`] spells the parts in which the
//! languages differ; [`cuda`] is the dialect of this crate, and the tests have that of C99. The
//! elementary functions come from [`Dialect::library`].

pub mod cuda;
mod division;
mod functions;
mod literal;
mod statements;

pub use functions::{Function, called};
pub use statements::{Statements, print};

use std::collections::BTreeSet;

/// A kernel language: the spelling of everything that a printed expression consists of.
///
/// The defaults are those of C. A language of the C family implements the required methods; others
/// override the defaults as well, and [`library`](Self::library) with functions of their own.
pub trait Dialect {
    /// Text in front of the library. The functions use `__device__`, `__forceinline__`,
    /// `__float_as_uint`, `__uint_as_float`, `__double_as_longlong`, `__longlong_as_double`,
    /// `__fmaf_rn`, `fabs`, `fabsf`, `copysignf` and `bool`; the prelude defines the ones that the
    /// language lacks.
    fn prelude(&self) -> &'static str;

    /// An expression with exactly this value, which binds as tightly as an identifier, except for
    /// a leading minus.
    fn literal(&self, value: f32) -> String;

    /// The name of a function of the language.
    fn builtin(&self, function: Builtin) -> &'static str;

    /// An operation that is faster and less accurate than the exact one; `None` if the language
    /// has none, so that the exact one is printed.
    fn approximate(&self, operation: Approximate<'_>) -> Option<String>;

    /// A statement that declares a constant.
    fn declare(&self, scalar: Scalar, name: &str, value: &str) -> String {
        let scalar = match scalar {
            Scalar::Float => "float",
            Scalar::Bool => "bool",
        };
        format!("const {scalar} {name} = {value};")
    }

    /// `then` if the boolean `condition` holds, else `otherwise`.
    fn select(&self, condition: &str, then: &str, otherwise: &str) -> String {
        format!("{condition} ? {then} : {otherwise}")
    }

    /// The prelude, the functions in `needed` and those that they call, callees first.
    fn library(&self, needed: &BTreeSet<Function>) -> String {
        let functions = functions::library(needed);
        match self.prelude() {
            "" => functions,
            prelude => format!("{prelude}\n{functions}"),
        }
    }
}

/// Functions that a kernel language has, correctly rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// Square root.
    Sqrt,
    /// |x|
    Abs,
    /// Nearest integer, ties to even.
    Round,
    /// Largest integer not above x.
    Floor,
}

/// Operations that may be approximated, with their operands as text.
#[derive(Clone, Copy, Debug)]
pub enum Approximate<'a> {
    /// eˣ
    Exp(&'a str),
    /// 1 / (1 + e⁻ˣ)
    Sigmoid(&'a str),
    /// a / b
    Div(&'a str, &'a str),
    /// a · b + c
    MulAdd(&'a str, &'a str, &'a str),
}

/// The types of printed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A number.
    Float,
    /// The result of a comparison.
    Bool,
}

/// The accuracy of printed expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The bits of a [`Program`](crate::Program) in f32.
    Exact,
    /// Fused multiply-adds and the language's approximations, for values whose last bits do not
    /// matter.
    Approximate,
}
