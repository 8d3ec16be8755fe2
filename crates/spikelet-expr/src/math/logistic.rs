//! The logistic function and the hyperbolic tangent.
//!
//! σ(x) = 1 / (1 + e⁻ˣ), computed from z = e^−|x| ≤ 1 so that nothing overflows, and
//! t = z / (1 + z): 1 − t for x > 0, t for x ≤ 0; where z < ¼, z − z t instead of t, because
//! the rounding of 1 + z would be the largest error there.
//!
//! tanh a = 1 − 2 / (e²ᵃ + 1) for a = |x| ≥ 5/8 and a + a³ p(a²) below, p of degree 4; the sign
//! of x is restored at the end.

use super::exponential::exp;
use super::source::{Source, polynomials};

polynomials! {
    /// (tanh(a)/a − 1) / a² as a function of a², on 0 ≤ a ≤ 0.626; relative error of tanh: 2⁻²⁷·⁷.
    tanh_near_zero: f32 [
        -0.333_332_8, 0.133_314_06, -0.053_736_515, 0.020_628_305, -0.005_692_694_3
    ];
}

/// The text of [`sigmoid`].
pub(crate) const SIGMOID: Source = Source::plain(include_str!("sigmoid.cuh"));

/// The text of [`tanh`].
pub(crate) const TANH: Source = Source {
    template: include_str!("tanh.cuh"),
    polynomials: &[tanh_near_zero::TERMS],
};

/// 1 / (1 + e⁻ˣ), within 2 ulp.
///
/// `sigmoid(−∞) = 0`, `sigmoid(+∞) = 1`, NaN for NaN.
///
/// ```
/// assert_eq!(spikelet_expr::math::sigmoid(0.0), 0.5);
/// assert_eq!(spikelet_expr::math::sigmoid(-1000.0), 0.0);
/// ```
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let z = exp(-x.abs());
    let t = z / (1.0 + z);
    let below = if z < 0.25 { z - z * t } else { t };
    if x > 0.0 { 1.0 - t } else { below }
}

/// 1 / (1 + e⁻ˣ) in f64.
#[inline(always)]
pub(crate) fn sigmoid_f64(x: f64) -> f64 {
    let z = (-x.abs()).exp();
    let numerator = if x > 0.0 { 1.0 } else { z };
    numerator / (1.0 + z)
}

/// The hyperbolic tangent, within 2 ulp.
///
/// `tanh(±∞) = ±1`, `tanh(±0) = ±0`, NaN for NaN.
///
/// ```
/// assert_eq!(spikelet_expr::math::tanh(20.0), 1.0);
/// ```
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let a = x.abs();
    let square = a * a;
    let p = tanh_near_zero::at(square);
    let near = a + a * (square * p);
    let far = 1.0 - 2.0 / (exp(2.0 * a) + 1.0);
    let result = if a < 0.625 { near } else { far };
    result.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ulp;

    #[test]
    fn sigmoid_is_within_two_ulp_of_the_f64_function() {
        let exact = |x: f64| 1.0 / (1.0 + (-x).exp());
        let worst = ulp::worst(ulp::all_exponents(1_000_000), sigmoid, exact);
        assert!(worst.ulps <= 2.0, "{worst:?}");
        let worst = ulp::worst(ulp::linear(-105.0, 20.0, 1_000_000), sigmoid, exact);
        assert!(worst.ulps <= 2.0, "{worst:?}");
    }

    #[test]
    fn tanh_is_within_two_ulp_of_the_f64_function() {
        let worst = ulp::worst(ulp::all_exponents(1_000_000), tanh, f64::tanh);
        assert!(worst.ulps <= 2.0, "{worst:?}");
        let worst = ulp::worst(ulp::linear(-10.0, 10.0, 1_000_000), tanh, f64::tanh);
        assert!(worst.ulps <= 2.0, "{worst:?}");
    }

    #[test]
    fn logistic_functions_keep_their_special_values() {
        assert_eq!(sigmoid(0.0), 0.5);
        assert_eq!(sigmoid(-0.0), 0.5);
        assert_eq!(sigmoid(f32::INFINITY), 1.0);
        assert_eq!(sigmoid(f32::NEG_INFINITY), 0.0);
        assert!(sigmoid(f32::NAN).is_nan());

        assert_eq!(tanh(0.0).to_bits(), 0.0_f32.to_bits());
        assert_eq!(tanh(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(tanh(f32::INFINITY), 1.0);
        assert_eq!(tanh(f32::NEG_INFINITY), -1.0);
        assert!(tanh(f32::NAN).is_nan());
    }
}
