//! The natural logarithm.
//!
//! x = 2ᵉ · m with √½ ≤ m < √2, f = m − 1;
//! ln x = e ln 2 + (f − f²/2 + f³ q(f)), q of degree 8.
//!
//! ln 2 is split as in the exponential, so that e times its leading part is exact; the terms are
//! added from small to large.

use super::exponential::{LN_2_HIGH, LN_2_LOW};
use super::source::{Source, polynomials};

/// Bits of √½.
const SQRT_HALF: i32 = 0x3f35_04f3;

polynomials! {
    /// (ln(1 + f) − f + f²/2) / f³ on √½ ≤ 1 + f ≤ √2; relative error of ln(1 + f): 2⁻²⁹.
    ln_remainder: f32 [
        0.333_333_13, -0.250_001_67, 0.200_022_22, -0.166_593_73, 0.142_096_36, -0.125_495_6,
        0.121_079_534, -0.109_173_37, 0.053_428_803
    ];
}

/// The text of [`ln`].
pub(crate) const LN: Source = Source {
    template: include_str!("ln.cuh"),
    polynomials: &[ln_remainder::TERMS],
};

/// The text of [`ln_1p`].
pub(crate) const LN_1P: Source = Source::plain(include_str!("ln_1p.cuh"));

/// ln x, within 1 ulp.
///
/// `ln(±0) = −∞`, `ln(∞) = ∞`, NaN for NaN and for x < 0.
///
/// ```
/// assert_eq!(spikelet_expr::math::ln(2.0), std::f32::consts::LN_2);
/// ```
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let subnormal = x < f32::MIN_POSITIVE;
    let normal = if subnormal { x * 8_388_608.0 } else { x };
    let shift = if subnormal { 23.0 } else { 0.0 };

    // Counting from the bits of √½, the exponent field is e and the fraction is that of m.
    let offset = (normal.to_bits() as i32).wrapping_sub(SQRT_HALF);
    let e = (offset >> 23) as f32 - shift;
    let m = f32::from_bits((offset & 0x007f_ffff).wrapping_add(SQRT_HALF) as u32);

    let f = m - 1.0;
    let square = f * f;
    let q = ln_remainder::at(f);
    let tail = f * square * q + e * LN_2_LOW - 0.5 * square;
    let result = f + tail + e * LN_2_HIGH;

    let at_zero_or_below = if x == 0.0 {
        f32::NEG_INFINITY
    } else {
        f32::NAN
    };
    let result = if x > 0.0 { result } else { at_zero_or_below };
    if x == f32::INFINITY { x } else { result }
}

/// ln(1 + x), within 2 ulp, also for tiny x.
///
/// `ln_1p(−1) = −∞`, `ln_1p(∞) = ∞`, `ln_1p(±0) = ±0`, NaN for NaN and for x < −1.
///
/// ```
/// assert_eq!(spikelet_expr::math::ln_1p(1e-10), 1e-10);
/// ```
#[inline(always)]
pub fn ln_1p(x: f32) -> f32 {
    // ln(1 + x) = ln u + (the rounding error of u = 1 + x) / u.
    let u = 1.0 + x;
    let dropped = (x - (u - 1.0)) / u;
    let result = ln(u) + dropped;
    let result = if u == 1.0 { x } else { result };
    let result = if u == 0.0 { f32::NEG_INFINITY } else { result };
    if x == f32::INFINITY { x } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ulp;

    #[test]
    fn ln_is_within_one_ulp_of_the_f64_function() {
        let worst = ulp::worst(ulp::all_exponents(2_000_000), ln, f64::ln);
        assert!(worst.ulps <= 1.0, "{worst:?}");
        let worst = ulp::worst(ulp::linear(0.5, 2.0, 1_000_000), ln, f64::ln);
        assert!(worst.ulps <= 1.0, "{worst:?}");
    }

    #[test]
    fn ln_1p_is_within_two_ulp_of_the_f64_function() {
        let worst = ulp::worst(ulp::all_exponents(1_000_000), ln_1p, f64::ln_1p);
        assert!(worst.ulps <= 2.0, "{worst:?}");
        let worst = ulp::worst(ulp::linear(-1.0, 1.0, 1_000_000), ln_1p, f64::ln_1p);
        assert!(worst.ulps <= 2.0, "{worst:?}");
    }

    #[test]
    fn logarithms_keep_their_special_values() {
        assert_eq!(ln(1.0).to_bits(), 0.0_f32.to_bits());
        assert_eq!(ln(0.0), f32::NEG_INFINITY);
        assert_eq!(ln(-0.0), f32::NEG_INFINITY);
        assert_eq!(ln(f32::INFINITY), f32::INFINITY);
        assert!(ln(-1.0).is_nan());
        assert!(ln(-f32::from_bits(1)).is_nan());
        assert!(ln(f32::NEG_INFINITY).is_nan());
        assert!(ln(f32::NAN).is_nan());

        assert_eq!(ln_1p(-1.0), f32::NEG_INFINITY);
        assert_eq!(ln_1p(f32::INFINITY), f32::INFINITY);
        assert_eq!(ln_1p(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert!(ln_1p(-1.5).is_nan());
        assert!(ln_1p(f32::NAN).is_nan());
    }
}
