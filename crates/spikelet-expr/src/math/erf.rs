//! The error function and its complement.
//!
//! erf(x) = 2/√π ∫₀ˣ e^(−t²) dt. With a = |x|:
//!
//! * a < 0.92: erf a = a + a p(a²), p of degree 6;
//! * beyond: erf a = 1 − e^(−a q(a)), q of degree 6, so that the error of the exponential is
//!   scaled down by how close erf is to one; from a = 3.95 on this is exactly 1.
//!
//! erfc(x) = 1 − erf(x) keeps its relative accuracy in the tail by
//! erfc a = e^(−a²) · g(s) / (1 + 2a), s = (a − 2)/(a + 2), g of degree 9, and
//! erfc(−a) = 2 − erfc a. (The variable s is that of Shepherd & Laframboise, "Chebyshev
//! approximation of (1 + 2x) exp(x²) erfc x", Math. Comp. 36, 1981.) a² is needed to more than the
//! precision of f32: its leading half h² is exact, the rest is (a − h)(a + h).

use super::exponential::{exp, exp_of_difference};
use super::source::{Source, polynomials};

polynomials! {
    /// erf(a)/a − 1 as a function of a², on 0 ≤ a ≤ 0.93; relative error of erf: 2⁻³⁰.
    erf_near_zero: f32 [
        0.128_379_17, -0.376_126_3, 0.112_836_26, -0.026_855_731, 0.005_192_405,
        -8.049_769_7e-4, 7.996_65e-5
    ];
    /// −ln(erfc a)/a on 0.92 ≤ a ≤ 3.95; relative error of erf: 2⁻³⁰.
    erf_exponent: f32 [
        1.128_648_5, 0.635_151_2, 0.106_237_03, -0.023_762_16, 0.003_642_481_5, -3.228_011_5e-4,
        1.122_992_3e-5
    ];
    /// (1 + 2a) e^(a²) erfc a as a function of s, on 0 ≤ a ≤ 10.1; relative error 2⁻²⁵.
    erfc_tail: f32 [
        1.276_978_4, -0.092_764_12, -0.166_030_05, 0.164_057_25, -0.054_217_2, -0.008_070_372,
        0.008_670_05, 0.001_342_385_8, -0.001_266_342_4, -4.303_246e-4
    ];
}

/// The text of [`erf`].
pub(crate) const ERF: Source = Source {
    template: include_str!("erf.cuh"),
    polynomials: &[erf_near_zero::TERMS, erf_exponent::TERMS],
};

/// The text of [`erfc`].
pub(crate) const ERFC: Source = Source {
    template: include_str!("erfc.cuh"),
    polynomials: &[erfc_tail::TERMS],
};

/// The error function, within 2 ulp.
///
/// `erf(±∞) = ±1`, `erf(±0) = ±0`, NaN for NaN.
///
/// ```
/// assert_eq!(spikelet_expr::math::erf(4.0), 1.0);
/// ```
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let a = x.abs();
    let square = a * a;
    let p = erf_near_zero::at(square);
    let near = a + a * p;
    let clamped = if a > 3.95 { 3.95 } else { a };
    let q = erf_exponent::at(clamped);
    let far = 1.0 - exp(-(clamped * q));
    let result = if a < 0.92 { near } else { far };
    result.copysign(x)
}

/// The complementary error function 1 − erf(x), within 5 ulp also where it is tiny.
///
/// `erfc(−∞) = 2`, `erfc(+∞) = 0` (from x = 10.06 on), NaN for NaN.
///
/// ```
/// assert_eq!(spikelet_expr::math::erfc(0.0), 1.0);
/// ```
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    let a = x.abs();
    let a = if a > 10.5 { 10.5 } else { a };
    let high = f32::from_bits(a.to_bits() & 0xffff_f000);
    let gauss = exp_of_difference(-(high * high), (a - high) * (a + high));
    let s = (a - 2.0) / (a + 2.0);
    let g = erfc_tail::at(s);
    let tail = gauss * (g / (1.0 + 2.0 * a));
    if x < 0.0 { 2.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ulp;

    #[test]
    fn erf_is_within_two_ulp_of_the_f64_function() {
        let worst = ulp::worst(ulp::all_exponents(1_000_000), erf, libm::erf);
        assert!(worst.ulps <= 2.0, "{worst:?}");
        let worst = ulp::worst(ulp::linear(-4.5, 4.5, 1_000_000), erf, libm::erf);
        assert!(worst.ulps <= 2.0, "{worst:?}");
    }

    #[test]
    fn erfc_is_within_five_ulp_of_the_f64_function_down_to_subnormal_results() {
        let worst = ulp::worst(ulp::all_exponents(1_000_000), erfc, libm::erfc);
        assert!(worst.ulps <= 5.0, "{worst:?}");
        let worst = ulp::worst(ulp::linear(-4.5, 10.2, 1_000_000), erfc, libm::erfc);
        assert!(worst.ulps <= 5.0, "{worst:?}");
    }

    #[test]
    fn error_functions_keep_their_special_values() {
        assert_eq!(erf(0.0).to_bits(), 0.0_f32.to_bits());
        assert_eq!(erf(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(erf(f32::INFINITY), 1.0);
        assert_eq!(erf(f32::NEG_INFINITY), -1.0);
        assert!(erf(f32::NAN).is_nan());

        assert_eq!(erfc(0.0), 1.0);
        assert_eq!(erfc(-0.0), 1.0);
        assert_eq!(erfc(f32::INFINITY), 0.0);
        assert_eq!(erfc(f32::NEG_INFINITY), 2.0);
        assert!(erfc(f32::NAN).is_nan());
    }
}
