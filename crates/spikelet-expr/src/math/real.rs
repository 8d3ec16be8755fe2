//! The number types of evaluators.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::elementary_functions;

macro_rules! declare {
    ([] $($(#[$doc:meta])* $op:ident: $method:ident { $($_:tt)* })*) => {
        $($(#[$doc])* fn $method(self) -> Self;)*
    };
}

macro_rules! define {
    ($($method:ident($($argument:ident)?) = $function:expr;)*) => {$(
        #[inline(always)]
        fn $method(self $(, $argument: Self)?) -> Self {
            $function(self $(, $argument)?)
        }
    )*};
}

macro_rules! define_f32 {
    ([] $($(#[$doc:meta])* $op:ident: $method:ident { $($_:tt)* })*) => {
        define! { $($method() = super::$method;)* }
    };
}

macro_rules! define_f64 {
    ([] $(
        $(#[$doc:meta])* $op:ident: $method:ident { name: $name:literal, f64: $double:expr, $($_:tt)* }
    )*) => {
        define! { $($method() = $double;)* }
    };
}

/// A number type in which expressions can be evaluated.
///
/// For `f32` the functions are those of [`spikelet_expr::math`](crate::math), with the same bits on
/// every device. For `f64` they are those of the standard library and of the crate `libm`: a
/// reference, for example for gradient checks, whose last bit may depend on the platform.
///
/// Both types have inherent methods of the same names (`f32::exp`), which take precedence for a
/// concrete type: call the trait's methods from generic code, or as `Real::exp(x)`.
///
/// ```
/// use spikelet_expr::math::Real;
///
/// fn softplus<R: Real>(x: R) -> R {
///     x.max_nan(R::ZERO) + (-x.abs()).exp().ln_1p()
/// }
/// assert!((f64::from(softplus(1.5_f32)) - softplus(1.5_f64)).abs() < 1e-6);
/// ```
pub trait Real:
    Copy
    + PartialOrd
    + Debug
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// The number nearest to `x`.
    fn from_f64(x: f64) -> Self;
    /// The same number as f64, exactly.
    fn to_f64(self) -> f64;

    elementary_functions!(declare);

    /// ln(1 + x), accurate near 0.
    fn ln_1p(self) -> Self;
    /// The square root, correctly rounded; NaN below 0.
    fn sqrt(self) -> Self;
    /// xʸ for real y, with the special values of [`pow`](crate::math::pow).
    fn powr(self, y: Self) -> Self;
    /// |x|.
    fn abs(self) -> Self;
    /// The nearest integer, ties to the even one.
    fn round_half_even(self) -> Self;
    /// The largest integer that is not above x.
    fn floor(self) -> Self;

    /// The smaller of the two; NaN if either is NaN.
    #[inline(always)]
    fn min_nan(self, other: Self) -> Self {
        if (self < other) | is_nan(self) {
            self
        } else {
            other
        }
    }

    /// The larger of the two; NaN if either is NaN.
    #[inline(always)]
    fn max_nan(self, other: Self) -> Self {
        if (self > other) | is_nan(self) {
            self
        } else {
            other
        }
    }
}

#[inline(always)]
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<R: Real>(x: R) -> bool {
    x != x
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    elementary_functions!(define_f32);
    define! {
        ln_1p() = super::ln_1p;
        sqrt() = f32::sqrt;
        powr(y) = super::pow;
        abs() = f32::abs;
        round_half_even() = f32::round_ties_even;
        floor() = f32::floor;
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    elementary_functions!(define_f64);
    define! {
        ln_1p() = f64::ln_1p;
        sqrt() = f64::sqrt;
        powr(y) = f64::powf;
        abs() = f64::abs;
        round_half_even() = f64::round_ties_even;
        floor() = f64::floor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unary::Unary;

    #[test]
    fn min_and_max_propagate_nan_from_both_sides() {
        fn check<R: Real>() {
            let nan = R::ZERO / R::ZERO;
            let two = R::ONE + R::ONE;
            assert!(R::ONE.min_nan(two) == R::ONE && two.min_nan(R::ONE) == R::ONE);
            assert!(R::ONE.max_nan(two) == two && two.max_nan(R::ONE) == two);
            for (a, b) in [(nan, two), (two, nan), (nan, nan)] {
                assert!(is_nan(a.min_nan(b)) && is_nan(a.max_nan(b)));
            }
        }
        check::<f32>();
        check::<f64>();
    }

    #[test]
    fn error_functions_in_f64_agree_with_exact_values_to_1e_15() {
        let exact = [
            (4.0, 0.9999999845827421, 1.541725790028002e-8),
            (5.0, 0.9999999999984626, 1.537459794428035e-12),
            (10.0, 1.0, 2.088487583762545e-45),
            (26.0, 1.0, 5.663192408856143e-296),
        ];
        for (x, erf, erfc) in exact {
            let close = |got: f64, exact: f64| (got / exact - 1.0).abs() < 1e-15;
            assert!(
                close(Real::erf(x), erf) && close(Real::erfc(x), erfc),
                "{x}"
            );
            assert!(
                close(Real::erf(-x), -erf) && close(Real::erfc(-x), 1.0 + erf),
                "{x}"
            );
        }
    }

    #[test]
    fn both_number_types_compute_the_same_functions() {
        let close = |name: &str, x: f32, got: f32, exact: f64| {
            let got = f64::from(got);
            let agree = (got - exact).abs() <= 3e-7 * exact.abs() || got == exact;
            assert!(
                agree || (got.is_nan() && exact.is_nan()),
                "{name} of {x}: {got}, not {exact}"
            );
        };
        for x in [-7.5_f32, -1.0, -0.3, 0.0, 0.2, 1.0, 2.5, 6.25] {
            let wide = f64::from(x);
            for op in Unary::ALL {
                close(op.name(), x, op.apply(x), op.apply(wide));
            }
            close("ln_1p", x, Real::ln_1p(x), Real::ln_1p(wide));
            close("pow", x, x.powr(2.5), wide.powr(2.5));
            close("max", x, x.max_nan(0.5), wide.max_nan(0.5));
        }
    }
}
