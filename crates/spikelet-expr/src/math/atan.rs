//! The arc tangent.
//!
//! With a = |x|, the argument is brought to |t| ≤ tan(π/8):
//!
//! | a | t | atan a |
//! |---|---|---|
//! | ≤ tan(π/8) | a | atan t |
//! | between | (a − 1) / (a + 1) | π/4 + atan t |
//! | > tan(3π/8) | −1 / a | π/2 + atan t |
//!
//! atan t = t + t³ p(t²), p of degree 4 (the reduction is that of Cephes' `atanf`, the polynomial
//! is longer). One division serves all three rows.

use super::source::{Source, polynomials};

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};

const TAN_PI_8: f32 = 0.414_213_57;
const TAN_3_PI_8: f32 = 2.414_213_7;
/// π/4 minus its f32; twice that is the same for π/2.
const FRAC_PI_4_LOW: f32 = -2.185_569_4e-8;

polynomials! {
    /// (atan(t)/t − 1) / t² as a function of t², on |t| ≤ tan(π/8); relative error of atan: 2⁻³⁰.
    atan_near_zero: f32 [-0.333_333_16, 0.199_985_28, -0.142_443_91, 0.105_991_684, -0.060_900_524];
}

/// The text of [`atan`].
pub(crate) const ATAN: Source = Source {
    template: include_str!("atan.cuh"),
    polynomials: &[atan_near_zero::TERMS],
};

/// The arc tangent in radians, within 2 ulp.
///
/// `atan(±∞) = ±π/2`, `atan(±0) = ±0`, NaN for NaN.
///
/// ```
/// assert_eq!(spikelet_expr::math::atan(1.0), std::f32::consts::FRAC_PI_4);
/// ```
#[inline(always)]
pub fn atan(x: f32) -> f32 {
    let a = x.abs();
    let small = a <= TAN_PI_8;
    let large = a > TAN_3_PI_8;

    let numerator = if small { a } else { a - 1.0 };
    let numerator = if large { -1.0 } else { numerator };
    let denominator = if small { 1.0 } else { a + 1.0 };
    let denominator = if large { a } else { denominator };
    let high = if small { 0.0 } else { FRAC_PI_4 };
    let high = if large { FRAC_PI_2 } else { high };
    let low = if small { 0.0 } else { FRAC_PI_4_LOW };
    let low = if large { 2.0 * FRAC_PI_4_LOW } else { low };

    let t = numerator / denominator;
    let square = t * t;
    let p = atan_near_zero::at(square);
    let result = high + (t + (t * (square * p) + low));
    result.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ulp;

    #[test]
    fn atan_is_within_two_ulp_of_the_f64_function() {
        let worst = ulp::worst(ulp::all_exponents(1_000_000), atan, f64::atan);
        assert!(worst.ulps <= 2.0, "{worst:?}");
        let worst = ulp::worst(ulp::linear(-4.0, 4.0, 1_000_000), atan, f64::atan);
        assert!(worst.ulps <= 2.0, "{worst:?}");
    }

    #[test]
    fn atan_keeps_its_special_values() {
        assert_eq!(atan(f32::INFINITY), FRAC_PI_2);
        assert_eq!(atan(f32::NEG_INFINITY), -FRAC_PI_2);
        assert_eq!(atan(0.0).to_bits(), 0.0_f32.to_bits());
        assert_eq!(atan(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert!(atan(f32::NAN).is_nan());
    }
}
