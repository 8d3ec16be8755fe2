//! The library of device functions.

use crate::math::source::Source;
use crate::math::{bits, elementary_functions, exponential, logarithm, power, trigonometric};
use crate::unary::Unary;
use std::collections::BTreeSet;

macro_rules! define_functions {
    ([] $(
        $(#[$doc:meta])* $op:ident: $method:ident {
            name: $name:literal, f64: $double:expr, gradient: $gradient:expr,
            source: $source:expr, calls: [$($callee:ident),*], $($_:tt)*
        }
    )*) => {
        /// A part of the library of device functions.
        ///
        /// Each part calls only parts that precede it in this list; `spk_exp` is the name of
        /// [`Function::Exp`] in the text, and so on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Function {
            /// Rounding to an integer and scaling by powers of two, for other functions.
            Bits,
            /// The sine and cosine of a reduced angle, for other functions.
            Quadrant,
            /// The reduction of an angle in radians, for other functions.
            Radians,
            /// The reduction of an angle in turns, for other functions.
            Turns,
            /// The exponential function of a reduced argument, for other functions.
            ExpNearZero,
            $(
                #[doc = concat!(
                    "`spk_", stringify!($method), "(x)`, see [`", stringify!($method),
                    "`](crate::math::", stringify!($method), "())."
                )]
                $op,
            )*
            /// `spk_ln_1p(x)`, see [`ln_1p`](crate::math::ln_1p).
            Ln1p,
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
            /// `spk_div_const(x, c, high, low)`: x / c with a precomputed reciprocal.
            DivConst,
            /// `spk_neg(x)`: −x where x is the result of a comparison.
            Neg,
        }

        impl Function {
            /// Every part of the library, callees before callers.
            pub const ALL: [Self; 13 + [$(stringify!($op)),*].len()] = [
                Self::Bits,
                Self::Quadrant,
                Self::Radians,
                Self::Turns,
                Self::ExpNearZero,
                $(Self::$op,)*
                Self::Ln1p,
                Self::Sin2Pi,
                Self::Cos2Pi,
                Self::Pow,
                Self::Min,
                Self::Max,
                Self::DivConst,
                Self::Neg,
            ];

            /// The name of the function; `None` for parts that only other parts of the library
            /// use.
            pub fn name(self) -> Option<&'static str> {
                Some(match self {
                    Self::Bits
                    | Self::Quadrant
                    | Self::Radians
                    | Self::Turns
                    | Self::ExpNearZero => return None,
                    $(Self::$op => concat!("spk_", stringify!($method)),)*
                    Self::Ln1p => "spk_ln_1p",
                    Self::Sin2Pi => "spk_sin_2pi",
                    Self::Cos2Pi => "spk_cos_2pi",
                    Self::Pow => "spk_pow",
                    Self::Min => "spk_min",
                    Self::Max => "spk_max",
                    Self::DivConst => "spk_div_const",
                    Self::Neg => "spk_neg",
                })
            }

            fn source(self) -> Source {
                match self {
                    Self::Bits => bits::BITS,
                    Self::Quadrant => trigonometric::QUADRANT,
                    Self::Radians => trigonometric::RADIANS,
                    Self::Turns => trigonometric::TURNS,
                    Self::ExpNearZero => exponential::EXP_NEAR_ZERO,
                    $(Self::$op => $source,)*
                    Self::Ln1p => logarithm::LN_1P,
                    Self::Sin2Pi => trigonometric::SIN_2PI,
                    Self::Cos2Pi => trigonometric::COS_2PI,
                    Self::Pow => power::POW,
                    Self::Min => Source::plain(include_str!("min.cuh")),
                    Self::Max => Source::plain(include_str!("max.cuh")),
                    Self::DivConst => Source::plain(include_str!("div_const.cuh")),
                    Self::Neg => Source::plain(include_str!("neg.cuh")),
                }
            }

            fn calls(self) -> &'static [Function] {
                match self {
                    Self::Radians | Self::Turns => &[Self::Bits, Self::Quadrant],
                    $(Self::$op => &[$(Self::$callee),*],)*
                    Self::Ln1p => &[Self::Ln],
                    Self::Sin2Pi | Self::Cos2Pi => &[Self::Turns],
                    Self::Bits
                    | Self::Quadrant
                    | Self::ExpNearZero
                    | Self::Pow
                    | Self::Min
                    | Self::Max
                    | Self::DivConst
                    | Self::Neg => &[],
                }
            }

            /// The function of the library that computes an elementary function.
            pub(super) fn of(op: Unary) -> Option<Self> {
                match op {
                    $(Unary::$op => Some(Self::$op),)*
                    Unary::Neg | Unary::Sqrt | Unary::Abs | Unary::Round | Unary::Floor => None,
                }
            }
        }
    };
}

elementary_functions!(define_functions);

/// The functions of the library that a text calls by their names.
///
/// ```
/// use spikelet_expr::text::{Function, called};
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

/// The functions in `needed` and those that they call, callees first.
pub(super) fn library(needed: &BTreeSet<Function>) -> String {
    let mut all = BTreeSet::new();
    let mut open: Vec<Function> = needed.iter().copied().collect();
    while let Some(function) = open.pop() {
        if all.insert(function) {
            open.extend(function.calls());
        }
    }
    let texts: Vec<String> = all.into_iter().map(|f| f.source().text()).collect();
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
                assert!(function.source().text().contains(&head), "{name}");
                assert_eq!(called(name), [function].into());
            }
        }
    }

    #[test]
    fn every_polynomial_is_written_out_where_it_is_used() {
        for function in Function::ALL {
            let source = function.source();
            let text = source.text();
            for polynomial in source.polynomials {
                let used = source.template.contains(polynomial.name);
                assert!(used && !text.contains(polynomial.name), "{function:?}");
            }
        }
    }

    /// NVRTC may parse float literals directly or via double; both must give the same bits.
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
