//! What an evaluator needs of its number type.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::erf64;

/// A number type in which expressions can be evaluated.
///
/// For `f32` the functions are those of [`spikelet_expr::math`](crate::math), the same bits on
/// every device. For `f64` they are those of the standard library: a reference to compare
/// against, in gradient checks for instance, whose last bit may depend on the platform.
///
/// Both types have inherent methods of the same names (`f32::exp`), which Rust prefers where the
/// type is spelled out: call the trait's from generic code, or as `Real::exp(x)`.
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

    /// eˣ.
    fn exp(self) -> Self;
    /// ln x; −∞ at ±0, NaN below.
    fn ln(self) -> Self;
    /// ln(1 + x), accurate near 0.
    fn ln_1p(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// 1 / (1 + e⁻ˣ).
    fn sigmoid(self) -> Self;
    /// The arc tangent, in radians.
    fn atan(self) -> Self;
    /// The error function 2/√π ∫₀ˣ e^(−t²) dt.
    fn erf(self) -> Self;
    /// 1 − erf(x), accurate where it is small.
    fn erfc(self) -> Self;
    /// sin x, x in radians.
    fn sin(self) -> Self;
    /// cos x, x in radians.
    fn cos(self) -> Self;
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
#[expect(
    clippy::eq_op,
    reason = "NaN is the one number that differs from itself"
)]
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
    #[inline(always)]
    fn exp(self) -> Self {
        super::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        super::ln(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        super::ln_1p(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        super::tanh(self)
    }
    #[inline(always)]
    fn sigmoid(self) -> Self {
        super::sigmoid(self)
    }
    #[inline(always)]
    fn atan(self) -> Self {
        super::atan(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        super::erf(self)
    }
    #[inline(always)]
    fn erfc(self) -> Self {
        super::erfc(self)
    }
    #[inline(always)]
    fn sin(self) -> Self {
        super::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> Self {
        super::cos(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn powr(self, y: Self) -> Self {
        super::pow(self, y)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }
    #[inline(always)]
    fn round_half_even(self) -> Self {
        f32::round_ties_even(self)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        f32::floor(self)
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
    #[inline(always)]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        f64::ln_1p(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        f64::tanh(self)
    }
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let z = f64::exp(-f64::abs(self));
        let numerator = if self > 0.0 { 1.0 } else { z };
        numerator / (1.0 + z)
    }
    #[inline(always)]
    fn atan(self) -> Self {
        f64::atan(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        erf64::erf(self)
    }
    #[inline(always)]
    fn erfc(self) -> Self {
        erf64::erfc(self)
    }
    #[inline(always)]
    fn sin(self) -> Self {
        f64::sin(self)
    }
    #[inline(always)]
    fn cos(self) -> Self {
        f64::cos(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline(always)]
    fn powr(self, y: Self) -> Self {
        f64::powf(self, y)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
    #[inline(always)]
    fn round_half_even(self) -> Self {
        f64::round_ties_even(self)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        f64::floor(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn min_and_max_pass_nan_on_from_both_sides() {
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
    fn both_number_types_compute_the_same_functions() {
        type Fused2 = (fn(f32) -> f32, fn(f64) -> f64);
        let pairs: [Fused2; 16] = [
            (Real::exp, Real::exp),
            (Real::ln, Real::ln),
            (Real::ln_1p, Real::ln_1p),
            (Real::tanh, Real::tanh),
            (Real::sigmoid, Real::sigmoid),
            (Real::atan, Real::atan),
            (Real::erf, Real::erf),
            (Real::erfc, Real::erfc),
            (Real::sin, Real::sin),
            (Real::cos, Real::cos),
            (Real::sqrt, Real::sqrt),
            (Real::abs, Real::abs),
            (Real::round_half_even, Real::round_half_even),
            (Real::floor, Real::floor),
            (|x| x.powr(2.5), |x| x.powr(2.5)),
            (|x| x.max_nan(0.5), |x| x.max_nan(0.5)),
        ];
        for (k, (single, double)) in pairs.into_iter().enumerate() {
            for x in [-7.5_f32, -1.0, -0.3, 0.0, 0.2, 1.0, 2.5, 6.25] {
                let (got, exact) = (single(x).to_f64(), double(x.to_f64()));
                let agree = (got - exact).abs() <= 3e-7 * exact.abs() || got == exact;
                assert!(
                    agree || (got.is_nan() && exact.is_nan()),
                    "function {k} at {x}: {got}, {exact}"
                );
            }
        }
    }
}
