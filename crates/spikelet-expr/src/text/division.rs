//! Division by a constant as a product and a fused multiply-add.
//!
//! With h = RN(1/c) and l = RN(1/c − h), q = RN(x h + RN(x l)) is nearly always the correctly
//! rounded quotient (Brisebarre, Muller, Raina: "Accelerating correctly rounded floating-point
//! division when the divisor is known in advance", IEEE Trans. Computers 53, 2004). This module
//! decides whether it always is for a given c.
//!
//! Powers of two scale all values equally unless one underflows, so assume 1 ≤ x, c < 2. Then |1/c − h − l| ≤ 2⁻⁵⁰ (l is at most 2⁻²⁵ and rounded to 24 bits), and
//! RN(x l) is off by at most 2⁻⁴⁹. Before the last rounding the sum is therefore within
//! 2 · 2⁻⁵⁰ + 2⁻⁴⁹ = 2⁻⁴⁸ of x/c, and the quotient can only be wrong if a midpoint m between two
//! floats lies between the two, that is within 2⁻⁴⁸ of x/c. (It is never equal to x/c.)
//!
//! In units of their last bits x, c and m are integers X, C and M. For x < c, where the quotient
//! is in [½, 1), x − m c = (2²⁵ X − M C) 2⁻⁴⁸; for x ≥ c it is (2²⁴ X − M C) 2⁻⁴⁷. That integer is
//! not 0, and by |x − m c| ≤ c · 2⁻⁴⁸ < 2⁻⁴⁷ it is ±1. Each value k of it leaves a handful of M,
//! those with M C ≡ −k modulo 2²⁵ or 2²⁴: they are tried. (k up to ±3 is tried, so that no sharp
//! bound is needed.)

/// The parts (h, l) of the reciprocal with which `spk_div_const` divides by `c` with the bits of `/`;
/// `None` if there are none.
pub(super) fn reciprocal(c: f32) -> Option<[f32; 2]> {
    // With |x| in (2⁻⁶⁰, 2⁶⁰), which the function checks, and l not too small, x l stays a
    // normal number and so does the quotient.
    const SIZES: std::ops::RangeInclusive<f32> = 9.536_743e-7..=1_048_576.0;
    const LEAST_LOW: f32 = 9.094_947e-13;
    if !SIZES.contains(&c.abs()) {
        return None;
    }
    let c_scaled = f32::from_bits(c.to_bits() & 0x007f_ffff | 1.0_f32.to_bits());
    let [high, low] = parts(c_scaled);
    if low.abs() < LEAST_LOW || !always_rounds(c_scaled, high, low) {
        return None;
    }
    Some(parts(c))
}

fn parts(c: f32) -> [f32; 2] {
    let high = 1.0 / c;
    // The product has 48 bits, and its difference from 1 is a multiple of the last one: both are exact.
    let rest = 1.0 - f64::from(high) * f64::from(c);
    [high, (rest / f64::from(c)) as f32]
}

/// Whether no x in [1, 2) is rounded to the wrong side of a midpoint; 1 ≤ c < 2.
fn always_rounds(c: f32, high: f32, low: f32) -> bool {
    let divisor = significand(c);
    [25, 24].into_iter().all(|shift| {
        [-3, -2, -1, 1, 2, 3].into_iter().all(|k| {
            midpoints(divisor, shift, k).all(|midpoint| {
                let x = ((midpoint * divisor).wrapping_add_signed(k) >> shift) as u32;
                let Some(x) = significand_to_float(x) else {
                    return true;
                };
                if (x < c) != (shift == 25) {
                    return true;
                }
                // All operations are exact: 48 bits, their difference, and one more term near it.
                let m = midpoint as f64 * 0.5_f64.powi(shift as i32);
                let above = f64::from(x) * f64::from(high) - m + f64::from(x * low);
                let ties_up = midpoint % 4 == 3;
                (above > 0.0 || above == 0.0 && ties_up) == (k > 0)
            })
        })
    })
}

/// The odd M in (2²⁴, 2²⁵) with M C + k divisible by 2^shift.
fn midpoints(divisor: u64, shift: u32, k: i64) -> impl Iterator<Item = u64> {
    let twos = divisor.trailing_zeros();
    let solvable = k % (1 << twos) == 0 && twos < shift;
    let odd = divisor >> twos;
    // Newton's iteration for the inverse modulo 2⁶⁴: 3 bits are correct, then 6, 12, …
    let inverse = (0..5).fold(odd, |y, _| {
        y.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(y)))
    });
    let step = 1_u64 << shift.saturating_sub(twos);
    let first = ((-k >> twos) as u64).wrapping_mul(inverse) % step;
    let end = if solvable { 1 << 25 } else { 0 };
    (first..end)
        .step_by(step as usize)
        .filter(|m| *m > 1 << 24 && m % 2 == 1)
}

fn significand(x: f32) -> u64 {
    u64::from(x.to_bits() & 0x007f_ffff | 0x0080_0000)
}

/// The float in [1, 2) with that significand.
fn significand_to_float(x: u32) -> Option<f32> {
    (x >> 23 == 1).then(|| f32::from_bits(x & 0x007f_ffff | 1.0_f32.to_bits()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x h + q₁ rounded once: the exact sum is rounded to odd in f64, whose bits are many enough.
    fn fused(x: f32, high: f32, q: f32) -> f32 {
        let product = f64::from(x) * f64::from(high);
        let sum = product + f64::from(q);
        let back = sum - product;
        let lost = (product - (sum - back)) + (f64::from(q) - back);
        let even = sum.to_bits() & 1 == 0;
        let sum = match lost {
            lost if lost == 0.0 || !even => sum,
            lost if (lost > 0.0) == (sum > 0.0) => f64::from_bits(sum.to_bits() + 1),
            _ => f64::from_bits(sum.to_bits() - 1),
        };
        sum as f32
    }

    fn wrong(c: f32, x: impl Iterator<Item = u32>) -> Option<f32> {
        let [high, low] = parts(c);
        x.map(|fraction| f32::from_bits(fraction & 0x007f_ffff | 1.0_f32.to_bits()))
            .find(|&x| fused(x, high, x * low) != x / c)
    }

    #[test]
    fn quotients_by_typical_constants_are_correctly_rounded() {
        for c in [
            2.5_f32, 3.0, 5.0, 7.0, 10.0, 100.0, 0.1, 1.1, 20.0, 333.3, -3.0,
        ] {
            assert!(reciprocal(c).is_some(), "{c}");
            let sample = (0..50_000_u32).map(|k| k.wrapping_mul(0x9e37_79b1) >> 9);
            assert_eq!(wrong(c, sample), None, "{c}");
        }
    }

    #[test]
    fn constants_whose_quotients_would_be_wrong_are_refused() {
        let mut refused = 0;
        for k in 0..1_u32 << 20 {
            let c = f32::from_bits(1.0_f32.to_bits() + 0x0020_0000 + 2 * k + 1);
            let [high, low] = parts(c);
            if !always_rounds(c, high, low) {
                refused += 1;
                if refused <= 2 {
                    assert!(wrong(c, 0..1 << 23).is_some(), "{c:?}");
                }
            }
        }
        assert!((1..20_000).contains(&refused), "{refused}");
    }

    #[test]
    fn powers_of_two_and_extreme_constants_use_the_division() {
        for c in [2.0, 0.25, 0.0, 1e-30, 3e30, f32::INFINITY, f32::NAN] {
            assert_eq!(reciprocal(c), None, "{c}");
        }
    }
}
