//! Sine and cosine, of radians and of turns.
//!
//! Radians (Cody–Waite reduction): n = round(|x| · 2/π), r = |x| − n π/2 with π/2 in four parts.
//! The first three have ten bits, so their products with n are exact up to n = 2¹⁴, |x| ≈ 25 700.
//! The quadrant n mod 4 selects ± sin r or ± cos r, |r| ≤ π/4:
//! sin r = r + r³ p(r²), cos r = 1 − r²/2 + r⁴ q(r²), p and q of degree 2. The rounding
//! error of r and n times the fourth part are d: sin(r + d) ≈ sin r + d (1 − r²/2),
//! cos(r + d) ≈ cos r − d sin r.
//!
//! Turns: n = round(4u), r = u − n/4, which is exact; |r| ≤ 1/8;
//! sin 2πr = 2πr + r p(r²), cos 2πr = 1 + r² q(r²).
//!
//! Beyond |x| ≈ 25 700 the products are rounded. The error grows to about half a spacing of the
//! floats around x, as large as the rounding error of x; beyond 6.5 million, where the spacing leaves
//! hardly a digit of the result, x is replaced by 0.

use std::f32::consts::{FRAC_2_PI, TAU};

use super::bits::round;
use super::source::{Source, polynomials};

/// π/2 in parts of 10, 10, 10 and 24 bits.
const FRAC_PI_2_PARTS: [f32; 4] = [1.570_312_5, 4.835_128_8e-4, 3.138_557e-7, 6.077_100_6e-11];

/// Larger angles are not reduced.
const LARGEST: f32 = 6.5e6;
const SIGN: u32 = 0x8000_0000;

polynomials! {
    /// (sin(r)/r − 1) / r² as a function of r², on |r| ≤ 0.788; relative error of sin: 2⁻²⁸.
    sin_radians: f32 [-0.166_666_54, 0.008_332_106, -1.950_788_3e-4];
    /// (cos(r) − 1 + r²/2) / r⁴ as a function of r², on |r| ≤ 0.788; relative error of cos: 2⁻³².
    cos_radians: f32 [0.041_666_653, -0.001_388_760_6, 2.446_106_4e-5];
    /// sin(2πr)/r − `TAU` as a function of r², on |r| ≤ 1/8; relative error of sin: 2⁻²⁸.
    sin_turns: f32 [-1.953_234_8e-7, -41.341_66, 81.591_89, -75.368_965];
    /// (cos(2πr) − 1) / r² as a function of r², on |r| ≤ 1/8; relative error of cos: 2⁻³¹.
    cos_turns: f32 [-19.739_208, 64.939_15, -85.424_52, 58.621_06];
}

/// The text of the sine and cosine of a reduced angle.
pub(crate) const QUADRANT: Source = Source::plain(include_str!("quadrant.cuh"));

/// The text of the reduction of an angle in radians.
pub(crate) const RADIANS: Source = Source {
    template: include_str!("radians.cuh"),
    polynomials: &[sin_radians::TERMS, cos_radians::TERMS],
};

/// The text of the reduction of an angle in turns.
pub(crate) const TURNS: Source = Source {
    template: include_str!("turns.cuh"),
    polynomials: &[sin_turns::TERMS, cos_turns::TERMS],
};

/// The text of [`sin`].
pub(crate) const SIN: Source = Source::plain(include_str!("sin.cuh"));

/// The text of [`cos`].
pub(crate) const COS: Source = Source::plain(include_str!("cos.cuh"));

/// The text of [`sin_2pi`].
pub(crate) const SIN_2PI: Source = Source::plain(include_str!("sin_2pi.cuh"));

/// The text of [`cos_2pi`].
pub(crate) const COS_2PI: Source = Source::plain(include_str!("cos_2pi.cuh"));

/// sin x, x in radians, within 2 ulp for |x| ≤ 25 000.
///
/// `sin(±0) = ±0`, NaN for NaN and ±∞.
///
/// Beyond 25 000 the error grows to at most one spacing of the floats around x, as if x were its
/// neighbor; beyond 6.5 million x is replaced by 0.
///
/// ```
/// assert_eq!(spikelet_expr::math::sin(std::f32::consts::FRAC_PI_2), 1.0);
/// ```
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let (sine, cosine, quadrant) = of_radians(x.abs());
    let result = if quadrant & 1 == 0 { sine } else { cosine };
    let sign = ((quadrant & 2) << 30) ^ (x.to_bits() & SIGN);
    f32::from_bits(result.to_bits() ^ sign)
}

/// cos x, x in radians; accuracy and range as for [`sin`].
///
/// `cos(±0) = 1`, NaN for NaN and ±∞.
///
/// ```
/// assert_eq!(spikelet_expr::math::cos(0.0), 1.0);
/// ```
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    let (sine, cosine, quadrant) = of_radians(x.abs());
    cosine_of(sine, cosine, quadrant)
}

/// sin 2πu, within 2 ulp for u in [0, 1] and any other |u| < 2²⁰.
///
/// Exact at multiples of a quarter turn: `sin_2pi(0.5) = 0`. NaN for NaN and ±∞.
///
/// ```
/// assert_eq!(spikelet_expr::math::sin_2pi(0.25), 1.0);
/// ```
#[inline(always)]
pub fn sin_2pi(u: f32) -> f32 {
    let (sine, cosine, quadrant) = of_turns(u.abs());
    let result = if quadrant & 1 == 0 { sine } else { cosine };
    let sign = ((quadrant & 2) << 30) ^ (u.to_bits() & SIGN);
    f32::from_bits(result.to_bits() ^ sign)
}

/// cos 2πu; accuracy and range as for [`sin_2pi`].
///
/// ```
/// assert_eq!(spikelet_expr::math::cos_2pi(0.5), -1.0);
/// ```
#[inline(always)]
pub fn cos_2pi(u: f32) -> f32 {
    let (sine, cosine, quadrant) = of_turns(u.abs());
    cosine_of(sine, cosine, quadrant)
}

/// The cosine of an angle from its quadrant and the sine and cosine of the rest.
#[inline(always)]
fn cosine_of(sine: f32, cosine: f32, quadrant: u32) -> f32 {
    let result = if quadrant & 1 == 0 { cosine } else { sine };
    // Negative in quadrants 1 and 2.
    let sign = (quadrant.wrapping_add(1) & 2) << 30;
    f32::from_bits(result.to_bits() ^ sign)
}

/// sin r, cos r and n for `a` = n π/2 + r ≥ 0.
#[inline(always)]
fn of_radians(a: f32) -> (f32, f32, u32) {
    // 0 for angles that cannot be reduced, NaN for infinity.
    let a = if a > LARGEST { 0.0 * a } else { a };
    let (n, quadrant) = round(a * FRAC_2_PI);
    let [p0, p1, p2, p3] = FRAC_PI_2_PARTS;
    let high = a - n * p0 - n * p1;
    let r = high - n * p2;
    let d = (high - r) - n * p2 - n * p3;
    let square = r * r;
    let half = 0.5 * square;
    let p = sin_radians::at(square);
    let sine = r + (r * (square * p) + (d - d * half));
    let q = cos_radians::at(square);
    let cosine = 1.0 - (half - (square * square * q - d * sine));
    (sine, cosine, quadrant as u32)
}

/// sin 2πr, cos 2πr and n for `a` = n/4 + r ≥ 0.
#[inline(always)]
fn of_turns(a: f32) -> (f32, f32, u32) {
    let (n, quadrant) = round(4.0 * a);
    let r = a - 0.25 * n;
    let square = r * r;
    let p = sin_turns::at(square);
    let sine = r * TAU + r * p;
    let q = cos_turns::at(square);
    let cosine = 1.0 + square * q;
    (sine, cosine, quadrant as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ulp;
    use std::f64::consts::TAU as TAU64;

    #[test]
    fn sine_and_cosine_are_within_two_ulp_of_the_f64_functions() {
        let in_range =
            || ulp::all_exponents(2_000_000).filter(|x| x.is_nan() || x.abs() <= 25_000.0);
        for (function, exact) in [
            (sin as fn(f32) -> f32, f64::sin as fn(f64) -> f64),
            (cos, f64::cos),
        ] {
            let worst = ulp::worst(in_range(), function, exact);
            assert!(worst.ulps <= 2.0, "{worst:?}");
            let worst = ulp::worst(ulp::linear(-25_000.0, 25_000.0, 1_000_000), function, exact);
            assert!(worst.ulps <= 2.0, "{worst:?}");
            let worst = ulp::worst(ulp::linear(-10.0, 10.0, 1_000_000), function, exact);
            assert!(worst.ulps <= 2.0, "{worst:?}");
        }
    }

    #[test]
    fn floats_next_to_multiples_of_half_pi_keep_their_relative_accuracy() {
        for n in 1..15_900 {
            let near = (f64::from(n) * std::f64::consts::FRAC_PI_2) as f32;
            for x in [near.next_down(), near, near.next_up()] {
                assert!(ulp::distance(sin(x), f64::from(x).sin()) <= 2.0, "sin {x}");
                assert!(ulp::distance(cos(x), f64::from(x).cos()) <= 2.0, "cos {x}");
            }
        }
    }

    #[test]
    fn large_arguments_lose_digits_as_if_they_were_their_neighbors() {
        for x in ulp::linear(25_000.0, 6_000_000.0, 200_000) {
            let allowed = ulp::spacing(f64::from(x));
            assert!(
                (f64::from(sin(x)) - f64::from(x).sin()).abs() <= allowed,
                "{x}"
            );
            assert!(
                (f64::from(cos(x)) - f64::from(x).cos()).abs() <= allowed,
                "{x}"
            );
        }
        for x in ulp::all_exponents(1_000_000).filter(|x| x.is_finite()) {
            assert!(sin(x).abs() <= 1.0, "{x}");
            assert!(cos(x).abs() <= 1.0, "{x}");
        }
    }

    #[test]
    fn turns_are_within_two_ulp_of_the_f64_functions() {
        // Reduced before it is multiplied by 2π, which f64 cannot do exactly.
        let reduce = |u: f64| u - u.round();
        let sine = |u: f64| match reduce(u).abs() {
            0.5 => 0.0,
            _ => (TAU64 * reduce(u)).sin(),
        };
        let cosine = |u: f64| match reduce(u).abs() {
            0.25 => 0.0,
            r => (TAU64 * r).cos(),
        };
        let in_range = || ulp::all_exponents(1_000_000).filter(|u| u.abs() < 1_048_576.0);
        for (function, exact) in [
            (sin_2pi as fn(f32) -> f32, &sine as &dyn Fn(f64) -> f64),
            (cos_2pi, &cosine),
        ] {
            let worst = ulp::worst(in_range(), function, exact);
            assert!(worst.ulps <= 2.0, "{worst:?}");
            let worst = ulp::worst(ulp::linear(0.0, 1.0, 1_000_000), function, exact);
            assert!(worst.ulps <= 2.0, "{worst:?}");
        }
    }

    #[test]
    fn trigonometric_functions_keep_their_special_values() {
        assert_eq!(sin(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(sin(0.0).to_bits(), 0.0_f32.to_bits());
        assert_eq!(cos(-0.0), 1.0);
        for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            assert!(sin(x).is_nan() && cos(x).is_nan());
            assert!(sin_2pi(x).is_nan() && cos_2pi(x).is_nan());
        }
        let quarters = [0.0, 0.25, 0.5, 0.75, 1.0];
        assert_eq!(quarters.map(sin_2pi), [0.0, 1.0, 0.0, -1.0, 0.0]);
        assert_eq!(quarters.map(cos_2pi), [1.0, 0.0, -1.0, 0.0, 1.0]);
    }
}
