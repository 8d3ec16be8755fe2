//! The exponential function.
//!
//! eˣ = 2ⁿ · eʳ with n = round(x / ln 2) and r = x − n ln 2, |r| ≤ ln 2 / 2;
//! eʳ = 1 + r + r² q(r), q of degree 4.
//!
//! ln 2 is split into a part of ten bits, whose product with n is exact, and the rest. The rounding
//! errors of x − n ln 2 and of 1 + r are added to the small term r² q(r). Below
//! −103.97 the result is 0, above 88.72 it is infinite; in between subnormal results are rounded
//! once.

use super::bits::{round, scale};
use super::source::{Source, polynomials};

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// The leading bits of ln 2.
pub(super) const LN_2_HIGH: f32 = 0.693_359_4;
/// ln 2 − `LN_2_HIGH`.
pub(super) const LN_2_LOW: f32 = -2.121_944_4e-4;

polynomials! {
    /// (eʳ − 1 − r) / r² on |r| ≤ 0.3466; relative error of eʳ: 2⁻²⁸.
    exp_remainder: f32 [0.499_999_94, 0.166_665_17, 0.041_668_102, 0.008_369_192, 0.001_383_887_1];
}

/// The text of [`exp`].
pub(crate) const EXP: Source = Source::plain(include_str!("exp.cuh"));

/// The text of the exponential function of a reduced argument.
pub(crate) const EXP_NEAR_ZERO: Source = Source {
    template: include_str!("exp_near_zero.cuh"),
    polynomials: &[exp_remainder::TERMS],
};

/// eˣ, within 1 ulp.
///
/// `exp(−∞) = 0`, `exp(+∞) = ∞`, NaN for NaN.
///
/// ```
/// assert_eq!(spikelet_expr::math::exp(1.0), std::f32::consts::E);
/// ```
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp_of_difference(x, 0.0)
}

/// e^(x − y) for a |y| < 0.1 beyond the precision of `x`.
#[inline(always)]
pub(super) fn exp_of_difference(x: f32, y: f32) -> f32 {
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -105.0 { -105.0 } else { x };
    let (n, exponent) = round((x - y) * LOG2_E);

    let high = x - n * LN_2_HIGH;
    let low = n * LN_2_LOW + y;
    let r = high - low;
    let d = (high - r) - low;

    let q = exp_remainder::at(r);
    let sum = 1.0 + r;
    let lost = (1.0 - sum) + r;
    scale(sum + (r * r * q + d + lost), exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ulp;

    #[test]
    fn exp_is_within_one_ulp_of_the_f64_function() {
        let worst = ulp::worst(ulp::all_exponents(1_000_000), exp, f64::exp);
        assert!(worst.ulps <= 1.0, "{worst:?}");
        let worst = ulp::worst(ulp::linear(-104.5, 89.0, 1_000_000), exp, f64::exp);
        assert!(worst.ulps <= 1.0, "{worst:?}");
    }

    #[test]
    fn exp_keeps_its_special_values() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert!(exp(88.722_83).is_finite());
        assert_eq!(exp(88.722_84), f32::INFINITY);
        assert_eq!(exp(-103.97), f32::from_bits(1));
        assert_eq!(exp(-103.98), 0.0);
        assert!(exp(f32::NAN).is_nan());
    }
}
