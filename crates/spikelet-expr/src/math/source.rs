//! The text of functions for devices.

use std::fmt::Write;

/// A function in the subset of C that CUDA C++ and C99 share.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    /// The text; a statement like `float p = tanh_near_zero(square);` stands for the polynomial of
    /// that name.
    pub(crate) template: &'static str,
    /// The polynomials in the text.
    pub(crate) polynomials: &'static [Polynomial],
}

impl Source {
    pub(crate) const fn plain(template: &'static str) -> Self {
        Self {
            template,
            polynomials: &[],
        }
    }

    /// The text with its polynomials written out.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for line in self.template.lines() {
            let expanded = self.polynomials.iter().find_map(|p| p.expand(line));
            text += &expanded.unwrap_or_else(|| format!("{line}\n"));
        }
        text
    }
}

/// A polynomial whose coefficients are the same in Rust and in the text for devices.
pub(crate) struct Polynomial {
    pub(crate) name: &'static str,
    /// The coefficients as literals of C, the constant term first.
    pub(crate) coefficients: fn() -> Vec<String>,
}

impl Polynomial {
    /// Horner's rule in place of the statement `TYPE VARIABLE = NAME(ARGUMENT);`.
    fn expand(&self, line: &str) -> Option<String> {
        let (declaration, call) = line.split_once(" = ")?;
        let argument = call.strip_prefix(self.name)?.strip_prefix('(')?;
        let argument = argument.strip_suffix(");")?;
        let (_, variable) = declaration.rsplit_once(' ')?;
        let indent = declaration.len() - declaration.trim_start().len();
        let mut coefficients = (self.coefficients)().into_iter().rev();
        let mut text = format!("{declaration} = {};\n", coefficients.next()?);
        for coefficient in coefficients {
            writeln!(
                text,
                "{:indent$}{variable} = {variable} * {argument} + {coefficient};",
                ""
            )
            .expect("writing to a string does not fail");
        }
        Some(text)
    }
}

/// A coefficient as a literal of C.
pub(crate) trait Coefficient {
    fn literal(self) -> String;
}

impl Coefficient for f32 {
    /// Compilers may parse float literals directly or via double: the digits suffice for both.
    fn literal(self) -> String {
        let shortest = match self.abs() < 1e-3 {
            true => format!("{self:e}"),
            false => format!("{self:?}"),
        };
        match shortest.parse::<f64>() {
            Ok(double) if double as f32 == self => format!("{shortest}f"),
            _ => format!("{self:.8e}f"),
        }
    }
}

impl Coefficient for f64 {
    fn literal(self) -> String {
        format!("{self:?}")
    }
}

/// `c0 + c1·x + c2·x² + …` by Horner's rule, from the highest coefficient down.
///
/// A macro, not a loop over an array: a loop that is unrolled late prevents LLVM from vectorizing the
/// loop around it.
macro_rules! polynomial {
    ($x:expr; $last:expr $(,)?) => { $last };
    ($x:expr; $first:expr, $($rest:expr),+ $(,)?) => {
        $crate::math::source::polynomial!($x; $($rest),+) * $x + $first
    };
}
pub(super) use polynomial;

/// Polynomials by name, the constant term first. `name::at(x)` evaluates one by Horner's rule,
/// `name::TERMS` is its description for [`Source`].
macro_rules! polynomials {
    ($($(#[$doc:meta])* $name:ident: $type:ident [$($coefficient:expr),+ $(,)?];)*) => {$(
        $(#[$doc])*
        pub(super) mod $name {
            use crate::math::source::{Coefficient, Polynomial};

            #[inline(always)]
            pub(crate) fn at(x: $type) -> $type {
                $crate::math::source::polynomial!(x; $($coefficient),+)
            }

            pub(crate) const TERMS: Polynomial = Polynomial {
                name: stringify!($name),
                coefficients: || {
                    let coefficients: &[$type] = &[$($coefficient),+];
                    coefficients.iter().map(|c| c.literal()).collect()
                },
            };
        }
    )*};
}
pub(super) use polynomials;

#[cfg(test)]
mod tests {
    use super::*;

    polynomials! {
        quadratic: f32 [0.5, -1.5e-4, 3.0];
    }

    #[test]
    fn a_polynomial_is_written_by_horners_rule() {
        let source = Source {
            template: "{\n    float p = quadratic(x);\n    p = quadratic;\n}\n",
            polynomials: &[quadratic::TERMS],
        };
        assert_eq!(
            source.text(),
            "{\n    float p = 3.0f;\n    p = p * x + -1.5e-4f;\n    p = p * x + 0.5f;\n    p = quadratic;\n}\n"
        );
        assert_eq!(quadratic::at(2.0), (3.0 * 2.0 + -1.5e-4) * 2.0 + 0.5);
    }

    #[test]
    fn literals_have_the_same_value_read_directly_and_via_double() {
        for k in 0..200_000_u32 {
            let value = f32::from_bits(k.wrapping_mul(0x9e37_79b1) & 0x7fff_ffff);
            if value.is_finite() {
                let literal = value.literal();
                let digits = literal
                    .strip_suffix('f')
                    .expect("float literals end with f");
                assert_eq!(digits.parse(), Ok(value));
                assert_eq!(digits.parse::<f64>().map(|double| double as f32), Ok(value));
            }
        }
    }
}
