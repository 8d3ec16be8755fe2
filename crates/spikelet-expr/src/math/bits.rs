//! Rounding, scaling and polynomials, as arithmetic that every device does alike.

/// 1.5 · 2²³: adding it pushes the fraction of a small number out of the significand.
const ROUND: f32 = 12_582_912.0;

/// The integer nearest to `x` (ties to even), as a float and as an integer.
///
/// Holds for |x| < 2²². Beyond that, and for NaN, the integer is meaningless and the float is
/// close to `x` (or NaN).
#[inline(always)]
pub(super) fn round(x: f32) -> (f32, i32) {
    let shifted = x + ROUND;
    let integer = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    (shifted - ROUND, integer)
}

/// `x · 2^n` for −252 ≤ n ≤ 254, rounded once, subnormal results included.
///
/// Two factors, because 2^n itself may lie outside the range of normal numbers. The first product
/// is exact as long as |x| is near one, which is where all callers are.
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

/// `c0 + c1·x + c2·x² + …` by Horner's rule, from the highest coefficient down.
///
/// A macro and not a loop over an array: a loop that is unrolled late keeps LLVM from vectorizing
/// the loop around it.
macro_rules! polynomial {
    ($x:expr; $last:expr $(,)?) => { $last };
    ($x:expr; $first:expr, $($rest:expr),+ $(,)?) => {
        polynomial!($x; $($rest),+) * $x + $first
    };
}
pub(super) use polynomial;

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
