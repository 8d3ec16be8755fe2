//! Rounding, scaling and polynomials in arithmetic with the same bits on every device.

use super::source::Source;

/// The text of rounding and scaling.
pub(crate) const BITS: Source = Source::plain(include_str!("bits.cuh"));

/// 1.5 · 2²³: adding it pushes the fraction of a small number out of the significand.
const ROUND: f32 = 12_582_912.0;

/// The integer nearest to `x` (ties to even), as a float and as an integer.
///
/// Valid for |x| < 2²². Beyond, and for NaN, the integer is meaningless and the float is close to
/// `x` (or NaN).
#[inline(always)]
pub(super) fn round(x: f32) -> (f32, i32) {
    let shifted = x + ROUND;
    let integer = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    (shifted - ROUND, integer)
}

/// `x · 2^n` for −252 ≤ n ≤ 254, rounded once, subnormal results included.
///
/// In two factors, because 2^n may lie outside the range of normal numbers. The first product is
/// exact if |x| is near one, as for all callers.
#[inline(always)]
pub(super) fn scale(x: f32, n: i32) -> f32 {
    let half = n >> 1;
    x * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// 2^n for −126 ≤ n ≤ 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_goes_to_the_nearest_integer_with_ties_to_even() {
        for k in -4_000_000..4_000_000_i32 {
            let x = k as f32 * 0.125;
            let expected = x.round_ties_even();
            assert_eq!(round(x), (expected, expected as i32), "{x}");
        }
    }

    #[test]
    fn scaling_reaches_from_subnormal_numbers_to_infinity() {
        assert_eq!(scale(1.0, -149), f32::from_bits(1));
        assert_eq!(scale(1.5, -127), f32::MIN_POSITIVE * 0.75);
        assert_eq!(scale(0.75, -149), f32::from_bits(1));
        assert_eq!(scale(0.5, 128), 2.0_f32.powi(127));
        assert_eq!(scale(1.0, 128), f32::INFINITY);
    }
}
