//! The device functions, each a file of its own.

use crate::expr::{Binary, Unary};
use std::collections::BTreeSet;

/// A part of the library of device functions.
///
/// The text of each is in its own file and calls only parts that come earlier in this list;
/// `spk_exp` is the name of [`Function::Exp`] in it, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Function {
    /// Rounding to an integer and scaling by powers of two, for other functions.
    Bits,
    /// What sine and cosine make of a reduced angle, for other functions.
    Quadrant,
    /// The reduction of an angle in radians, for other functions.
    Radians,
    /// The reduction of an angle in turns, for other functions.
    Turns,
    /// The exponential function of a reduced argument, for other functions.
    ExpNearZero,
    /// `spk_exp(x)`, see [`exp`](crate::math::exp).
    Exp,
    /// `spk_ln(x)`, see [`ln`](crate::math::ln).
    Ln,
    /// `spk_ln_1p(x)`, see [`ln_1p`](crate::math::ln_1p).
    Ln1p,
    /// `spk_tanh(x)`, see [`tanh`](crate::math::tanh).
    Tanh,
    /// `spk_sigmoid(x)`, see [`sigmoid`](crate::math::sigmoid).
    Sigmoid,
    /// `spk_atan(x)`, see [`atan`](crate::math::atan).
    Atan,
    /// `spk_erf(x)`, see [`erf`](crate::math::erf).
    Erf,
    /// `spk_erfc(x)`, see [`erfc`](crate::math::erfc).
    Erfc,
    /// `spk_sin(x)`, see [`sin`](crate::math::sin).
    Sin,
    /// `spk_cos(x)`, see [`cos`](crate::math::cos).
    Cos,
    /// `spk_sin_2pi(u)`, see [`sin_2pi`](crate::math::sin_2pi).
    Sin2Pi,
    /// `spk_cos_2pi(u)`, see [`cos_2pi`](crate::math::cos_2pi).
    Cos2Pi,
    /// `spk_pow(x, y)`, see [`pow`](crate::math::pow).
    Pow,
    /// `spk_min(a, b)`: the smaller; NaN if either is NaN.
    Min,
    /// `spk_max(a, b)`: the larger; NaN if either is NaN.
    Max,
    /// `spk_div_const(x, c, high, low)`: x / c with a reciprocal that is known beforehand.
    DivConst,
    /// `spk_neg(x)`: −x where x is the result of a comparison.
    Neg,
}

impl Function {
    /// Every part of the library, callees before callers.
    pub const ALL: [Function; 22] = [
        Self::Bits,
        Self::Quadrant,
        Self::Radians,
        Self::Turns,
        Self::ExpNearZero,
        Self::Exp,
        Self::Ln,
        Self::Ln1p,
        Self::Tanh,
        Self::Sigmoid,
        Self::Atan,
        Self::Erf,
        Self::Erfc,
        Self::Sin,
        Self::Cos,
        Self::Sin2Pi,
        Self::Cos2Pi,
        Self::Pow,
        Self::Min,
        Self::Max,
        Self::DivConst,
        Self::Neg,
    ];

    /// What it is called by; what only other functions need begins with `spk_` too, and has none.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Bits | Self::Quadrant | Self::Radians | Self::Turns | Self::ExpNearZero => {
                return None;
            }
            Self::Exp => "spk_exp",
            Self::Ln => "spk_ln",
            Self::Ln1p => "spk_ln_1p",
            Self::Tanh => "spk_tanh",
            Self::Sigmoid => "spk_sigmoid",
            Self::Atan => "spk_atan",
            Self::Erf => "spk_erf",
            Self::Erfc => "spk_erfc",
            Self::Sin => "spk_sin",
            Self::Cos => "spk_cos",
            Self::Sin2Pi => "spk_sin_2pi",
            Self::Cos2Pi => "spk_cos_2pi",
            Self::Pow => "spk_pow",
            Self::Min => "spk_min",
            Self::Max => "spk_max",
            Self::DivConst => "spk_div_const",
            Self::Neg => "spk_neg",
        })
    }

    fn text(self) -> &'static str {
        match self {
            Self::Bits => include_str!("functions/bits.cuh"),
            Self::Quadrant => include_str!("functions/quadrant.cuh"),
            Self::Radians => include_str!("functions/radians.cuh"),
            Self::Turns => include_str!("functions/turns.cuh"),
            Self::ExpNearZero => include_str!("functions/exp_near_zero.cuh"),
            Self::Exp => include_str!("functions/exp.cuh"),
            Self::Ln => include_str!("functions/ln.cuh"),
            Self::Ln1p => include_str!("functions/ln_1p.cuh"),
            Self::Tanh => include_str!("functions/tanh.cuh"),
            Self::Sigmoid => include_str!("functions/sigmoid.cuh"),
            Self::Atan => include_str!("functions/atan.cuh"),
            Self::Erf => include_str!("functions/erf.cuh"),
            Self::Erfc => include_str!("functions/erfc.cuh"),
            Self::Sin => include_str!("functions/sin.cuh"),
            Self::Cos => include_str!("functions/cos.cuh"),
            Self::Sin2Pi => include_str!("functions/sin_2pi.cuh"),
            Self::Cos2Pi => include_str!("functions/cos_2pi.cuh"),
            Self::Pow => include_str!("functions/pow.cuh"),
            Self::Min => include_str!("functions/min.cuh"),
            Self::Max => include_str!("functions/max.cuh"),
            Self::DivConst => include_str!("functions/div_const.cuh"),
            Self::Neg => include_str!("functions/neg.cuh"),
        }
    }

    fn calls(self) -> &'static [Function] {
        match self {
            Self::Radians | Self::Turns => &[Self::Bits, Self::Quadrant],
            Self::Exp => &[Self::Bits, Self::ExpNearZero],
            Self::Sigmoid => &[Self::ExpNearZero],
            Self::Ln1p => &[Self::Ln],
            Self::Tanh | Self::Erf | Self::Erfc => &[Self::Exp],
            Self::Sin | Self::Cos => &[Self::Radians],
            Self::Sin2Pi | Self::Cos2Pi => &[Self::Turns],
            Self::Bits
            | Self::Quadrant
            | Self::ExpNearZero
            | Self::Ln
            | Self::Atan
            | Self::Pow
            | Self::Min
            | Self::Max
            | Self::DivConst
            | Self::Neg => &[],
        }
    }
}

/// How a function is spelled in C++.
pub(super) enum Spelling {
    /// A sign before its operand or between two.
    Sign(&'static str),
    /// What the compiler has.
    BuiltIn(&'static str),
    /// A part of the library.
    Own(Function),
}

pub(super) fn unary(op: Unary) -> Spelling {
    match op {
        Unary::Neg => Spelling::Sign("-"),
        Unary::Exp => Spelling::Own(Function::Exp),
        Unary::Ln => Spelling::Own(Function::Ln),
        Unary::Tanh => Spelling::Own(Function::Tanh),
        Unary::Sigmoid => Spelling::Own(Function::Sigmoid),
        Unary::Atan => Spelling::Own(Function::Atan),
        Unary::Erf => Spelling::Own(Function::Erf),
        Unary::Erfc => Spelling::Own(Function::Erfc),
        Unary::Sin => Spelling::Own(Function::Sin),
        Unary::Cos => Spelling::Own(Function::Cos),
        Unary::Sqrt => Spelling::BuiltIn("__fsqrt_rn"),
        Unary::Abs => Spelling::BuiltIn("fabsf"),
        Unary::Round => Spelling::BuiltIn("rintf"),
        Unary::Floor => Spelling::BuiltIn("floorf"),
    }
}

pub(super) fn binary(op: Binary) -> Spelling {
    Spelling::Sign(match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Pow => return Spelling::Own(Function::Pow),
        Binary::Min => return Spelling::Own(Function::Min),
        Binary::Max => return Spelling::Own(Function::Max),
        Binary::Lt => "<",
        Binary::Le => "<=",
        Binary::Gt => ">",
        Binary::Ge => ">=",
        Binary::Eq => "==",
        Binary::Ne => "!=",
    })
}

/// The functions of the library that a text of whatever origin calls by their names.
///
/// ```
/// use spikelet_expr::cuda::{Function, called};
/// let text = "y[i] = spk_max(spk_exp(x[i]), my_spk_ln(x[i]));";
/// assert_eq!(called(text), [Function::Exp, Function::Max].into());
/// ```
pub fn called(text: &str) -> BTreeSet<Function> {
    let words: BTreeSet<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    Function::ALL
        .into_iter()
        .filter(|function| function.name().is_some_and(|name| words.contains(name)))
        .collect()
}

/// The text of the functions that are needed and of those they call, callees first.
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
    let mut all = BTreeSet::new();
    let mut open: Vec<Function> = needed.iter().copied().collect();
    while let Some(function) = open.pop() {
        if all.insert(function) {
            open.extend(function.calls());
        }
    }
    let texts: Vec<&str> = all.into_iter().map(Function::text).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_come_before_their_callers() {
        assert!(Function::ALL.is_sorted());
        for function in Function::ALL {
            assert!(function.calls().iter().all(|callee| *callee < function));
        }
    }

    #[test]
    fn every_name_is_that_of_a_function_in_its_own_text() {
        for function in Function::ALL {
            if let Some(name) = function.name() {
                let head = format!("__forceinline__ float {name}(float ");
                assert!(function.text().contains(&head), "{name}");
                assert_eq!(called(name), [function].into());
            }
        }
    }

    /// Whether a compiler's front end reads floats directly or through double is its secret.
    #[test]
    fn decimal_constants_read_the_same_directly_and_through_double() {
        let text = library(&Function::ALL.into());
        let mut count = 0;
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !".-_".contains(c)) {
            let number = word.strip_suffix('f').unwrap_or_default();
            if let (Ok(direct), Ok(double)) = (number.parse::<f32>(), number.parse::<f64>()) {
                assert_eq!(direct.to_bits(), (double as f32).to_bits(), "{word}");
                count += 1;
            }
        }
        assert!(count > 100, "{count}");
    }
}
