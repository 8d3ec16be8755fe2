//! Uniform and normal numbers from random words.

use spikelet_expr::math;

/// 2⁻²⁴.
const UNIT: f32 = 1.0 / 16_777_216.0;

/// ((bits >> 8) + 1) · 2⁻²⁴, a number in (0, 1].
///
/// The interval excludes zero and includes one: `unit(bits) <= p` never holds for p = 0 and always
/// for p = 1, and the logarithm is finite. All values are exact.
///
/// ```
/// use spikelet_random::unit;
/// assert_eq!(unit(u32::MAX), 1.0);
/// assert_eq!(unit(0), 2.0_f32.powi(-24));
/// ```
#[inline(always)]
pub fn unit(bits: u32) -> f32 {
    // Via i32, whose conversion to f32 is one instruction on every x86-64; below 2²⁵ the value is
    // the same.
    ((bits >> 8) + 1) as i32 as f32 * UNIT
}

/// The bound t for which `bits >> 8 < t` is equivalent to `unit(bits) <= p`.
#[inline(always)]
pub(crate) fn threshold(p: f32) -> u32 {
    // p · 2²⁴ is exact, so k + 1 ≤ p · 2²⁴ is k < ⌊p · 2²⁴⌋.
    let p = if p > 0.0 { p } else { 0.0 };
    let p = if p < 1.0 { p } else { 1.0 };
    (p * 16_777_216.0) as i32 as u32
}

/// Two independent standard normal numbers from two words (Box and Muller).
///
/// r = √(−2 ln u₀), φ = 2π u₁ with uᵢ the [`unit()`] of bᵢ; the result is (r cos φ, r sin φ), within
/// ±5.77. Logarithm, sine and cosine are those of [`spikelet_expr::math`], so the bits are the
/// same on every device.
///
/// ```
/// use spikelet_random::normal_pair;
/// let (x, y) = normal_pair(0x8000_0000, 0x4000_0000);
/// assert!(x.abs() < 1e-6 && (y - 1.177_410).abs() < 1e-6);
/// ```
#[inline(always)]
pub fn normal_pair(b0: u32, b1: u32) -> (f32, f32) {
    let radius = (-2.0 * math::ln(unit(b0))).sqrt();
    let turn = unit(b1);
    (radius * math::cos_2pi(turn), radius * math::sin_2pi(turn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_equivalent_to_comparisons_of_floats() {
        let edge = |k: u32| k as f32 * UNIT;
        let probabilities = [
            f32::NEG_INFINITY,
            -1.0,
            -0.0,
            0.0,
            f32::MIN_POSITIVE,
            edge(1).next_down(),
            edge(1),
            0.1,
            0.5,
            edge(12_345_678),
            edge(16_777_215),
            1.0,
            1.5,
            f32::INFINITY,
            f32::NAN,
        ];
        for p in probabilities {
            let threshold = threshold(p);
            let near = [threshold.wrapping_sub(1), threshold, threshold + 1];
            for k in near.into_iter().chain([0, 1, 9_999, 8_388_608, 16_777_215]) {
                if k < 1 << 24 {
                    assert_eq!(k < threshold, unit(k << 8) <= p, "p = {p}, k = {k}");
                }
            }
        }
    }

    #[test]
    fn normal_numbers_are_finite_at_both_ends_of_the_unit_interval() {
        for b0 in [0, 1 << 8, u32::MAX] {
            for b1 in [0, 1 << 30, 1 << 31, u32::MAX] {
                let (x, y) = normal_pair(b0, b1);
                assert!(x.abs() < 5.78 && y.abs() < 5.78, "{b0} {b1}: {x} {y}");
            }
        }
    }
}
