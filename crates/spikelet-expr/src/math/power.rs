//! Powers.
//!
//! |x|ʸ = 2^(y log₂|x|). An error of the logarithm is multiplied by up to 150 in the result, so the
//! logarithm needs about eight bits more than f32 has. It is therefore computed in f64, which is as
//! reproducible as f32 and shorter than a logarithm in two floats.
//!
//! |x| = 2ᵉ m with √½ ≤ m < √2, s = (m − 1)/(m + 1): log₂|x| = e + s p(s²), p of degree 6.
//! 2ᵗ = 2ⁿ 2ᶠ with n = round(t): 2ᶠ = 1 + f q(f), q of degree 6.

use super::source::{Source, polynomials};

/// 1.5 · 2⁵²: adding it pushes the fraction of a small number out of the significand.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Bits of 1 − those of √½.
const ONE_MINUS_SQRT_HALF: u64 = 0x3ff0_0000_0000_0000 - 0x3fe6_a09e_667f_3bcd;
/// 2⁵²; its lowest bits, set to an integer, add that integer.
const TWO_52: f64 = 4_503_599_627_370_496.0;

polynomials! {
    /// log₂(m)/s as a function of s², on √½ ≤ m ≤ √2; relative error: 2⁻⁵¹.
    log2_near_one: f64 [
        2.885390081777927, 0.9617966939244105, 0.5770780172277528, 0.4121984040178936,
        0.32061628569692835, 0.2614468249637622, 0.24289103339434112
    ];
    /// (2ᶠ − 1)/f on |f| ≤ ½; relative error of 2ᶠ: 2⁻³².
    exp2_near_zero: f64 [
        0.6931471838208154, 0.24022650921054745, 0.05550400366562222, 0.009618056861540955,
        0.001334195469696921, 0.00015461390786224134, 1.3359761846085192e-5
    ];
}

/// The text of [`pow`].
pub(crate) const POW: Source = Source {
    template: include_str!("pow.cuh"),
    polynomials: &[log2_near_one::TERMS, exp2_near_zero::TERMS],
};

/// xʸ, within 1 ulp, with the special values of IEEE 754 `pow`:
///
/// | | |
/// |---|---|
/// | `pow(x, ±0)`, `pow(1, y)` | 1, NaN included |
/// | `pow(−1, ±∞)` | 1 |
/// | x < 0, y an integer | sign from whether y is odd |
/// | x < 0 finite, y finite and no integer | NaN |
/// | x = ±0, y < 0 | ∞, with the sign of x if y is an odd integer |
/// | x = ±0, y > 0 | 0, with the sign of x if y is an odd integer |
/// | otherwise NaN in either | NaN |
///
/// ```
/// use spikelet_expr::math::pow;
/// assert_eq!(pow(2.0, 0.5), std::f32::consts::SQRT_2);
/// assert!(pow(-2.0, 0.5).is_nan());
/// ```
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let base = f64::from(x.abs());
    let exponent = f64::from(y);

    let t = exponent * log2(base);
    let t = if t > 200.0 { 200.0 } else { t };
    let t = if t < -200.0 { -200.0 } else { t };
    let magnitude = exp2(t) as f32;

    // From 2²⁴ on every float is an even integer; infinity is treated as one.
    let size = exponent.abs();
    let size = if size > 33_554_432.0 {
        33_554_432.0
    } else {
        size
    };
    let shifted = size + ROUND;
    let integer = shifted - ROUND == size;
    let odd = integer & (shifted.to_bits() & 1 == 1);

    let negative = x.is_sign_negative();
    let result = if negative & odd {
        -magnitude
    } else {
        magnitude
    };
    let undefined = (x < 0.0) & (x > f32::NEG_INFINITY) & !integer;
    let result = if undefined { f32::NAN } else { result };
    let one = (x == 1.0) | (y == 0.0) | ((x == -1.0) & (y.abs() == f32::INFINITY));
    if one { 1.0 } else { result }
}

/// log₂ of an f32 value ≥ 0; −∞ for 0, the argument for ∞ and NaN.
#[inline(always)]
fn log2(x: f64) -> f64 {
    // Counting from the bits of √½, the exponent field is e + 1023 and the fraction is that of m.
    let biased = x.to_bits().wrapping_add(ONE_MINUS_SQRT_HALF) >> 52;
    let e = f64::from_bits(TWO_52.to_bits() | biased) - (TWO_52 + 1023.0);
    let m = f64::from_bits(x.to_bits().wrapping_sub(biased.wrapping_sub(1023) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let p = log2_near_one::at(s * s);
    let result = e + s * p;
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    if x < f64::INFINITY { result } else { x }
}

/// 2ᵗ for |t| ≤ 200; NaN for NaN.
#[inline(always)]
fn exp2(t: f64) -> f64 {
    let shifted = t + ROUND;
    let f = t - (shifted - ROUND);
    let n = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    let scale = f64::from_bits(n.wrapping_add(1023) << 52);
    let q = exp2_near_zero::at(f);
    (1.0 + f * q) * scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::ulp;

    #[test]
    fn pow_is_within_one_ulp_of_the_f64_function() {
        for y in [
            -16.0,
            -3.5,
            -1.0,
            -0.5,
            -0.25,
            0.1,
            1.0 / 3.0,
            0.5,
            1.0,
            1.5,
            2.0,
            2.2,
            3.0,
            8.0,
            16.0,
            100.3,
        ] {
            let exact = |x: f64| x.powf(f64::from(y));
            let worst = ulp::worst(ulp::all_exponents(100_000), |x| pow(x, y), exact);
            assert!(worst.ulps <= 1.0, "y = {y}: {worst:?}");
            let worst = ulp::worst(ulp::linear(0.5, 2.0, 100_000), |x| pow(x, y), exact);
            assert!(worst.ulps <= 1.0, "y = {y}: {worst:?}");
        }
        for x in [0.3, 0.9, 0.999, 1.000_001, 1.1, 10.0] {
            let exact = |y: f64| f64::from(x).powf(y);
            let worst = ulp::worst(ulp::all_exponents(100_000), |y| pow(x, y), exact);
            assert!(worst.ulps <= 1.0, "x = {x}: {worst:?}");
        }
    }

    #[test]
    fn pow_agrees_with_ieee_754_on_every_pair_of_special_values() {
        let values = [
            0.0,
            0.5,
            1.0,
            1.5,
            2.0,
            3.0,
            4.0,
            16_777_215.0,
            16_777_216.0,
            1e30,
            f32::MIN_POSITIVE,
            f32::from_bits(1),
            f32::MAX,
            f32::INFINITY,
        ];
        let signed: Vec<f32> = values
            .iter()
            .flat_map(|v| [*v, -*v])
            .chain([f32::NAN])
            .collect();
        for &x in &signed {
            for &y in &signed {
                let exact = f64::from(x).powf(f64::from(y));
                let got = pow(x, y);
                assert!(
                    ulp::distance(got, exact) <= 1.0,
                    "pow({x}, {y}) = {got}, not {exact}"
                );
                let sign_matters = !exact.is_nan();
                assert!(
                    !sign_matters || got.is_sign_negative() == exact.is_sign_negative(),
                    "pow({x}, {y}) = {got}, not {exact}"
                );
            }
        }
    }
}
