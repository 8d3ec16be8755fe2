//! Philox 4x32-10, the random function of this crate.
//!
//! Ten rounds, each of two 32 × 32 → 64 bit multiplications and exclusive ors:
//!
//! (h₀, l₀) = M₀ · c₀, (h₁, l₁) = M₁ · c₂; c ← (h₁ ⊕ c₁ ⊕ k₀, l₁, h₀ ⊕ c₃ ⊕ k₁, l₀);
//! k ← k + W.
//!
//! Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! SC 2011.

const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The keys of the ten rounds.
pub(crate) type Keys = [[u32; 2]; 10];

/// Four random words from a counter and a key.
///
/// ```
/// use spikelet_random::philox4x32_10;
/// assert_eq!(philox4x32_10([0; 4], [0; 2])[0], 0x6627_e8d5);
/// ```
#[inline(always)]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    philox(counter.map(u64::from), &keys(key)).map(|word| word as u32)
}

#[inline(always)]
pub(crate) fn keys(key: [u32; 2]) -> Keys {
    let mut keys = [key; 10];
    for round in 1..10 {
        keys[round][0] = keys[round - 1][0].wrapping_add(WEYL[0]);
        keys[round][1] = keys[round - 1][1].wrapping_add(WEYL[1]);
    }
    keys
}

/// The ten rounds on words in 64-bit lanes; only the low halves of the result are valid.
///
/// In 64-bit lanes the product of two words needs no shuffles, and an instruction that multiplies
/// low halves makes the masks free. The rounds are unrolled by hand so that a loop around this
/// function vectorizes.
#[inline(always)]
pub(crate) fn philox(counter: [u64; 4], keys: &Keys) -> [u64; 4] {
    let c = round(counter, keys[0]);
    let c = round(c, keys[1]);
    let c = round(c, keys[2]);
    let c = round(c, keys[3]);
    let c = round(c, keys[4]);
    let c = round(c, keys[5]);
    let c = round(c, keys[6]);
    let c = round(c, keys[7]);
    let c = round(c, keys[8]);
    round(c, keys[9])
}

#[inline(always)]
fn round([c0, c1, c2, c3]: [u64; 4], [k0, k1]: [u32; 2]) -> [u64; 4] {
    const LOW: u64 = 0xffff_ffff;
    let p0 = (c0 & LOW) * MULTIPLIERS[0];
    let p1 = (c2 & LOW) * MULTIPLIERS[1];
    [
        (p1 >> 32) ^ c1 ^ u64::from(k0),
        p1,
        (p0 >> 32) ^ c3 ^ u64::from(k1),
        p0,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_agrees_with_the_known_answers_of_random123() {
        assert_eq!(
            philox4x32_10([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        // The digits of π.
        assert_eq!(
            philox4x32_10(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
