//! Packing spikes into bits.
//!
//! A row of spikes takes `words(features)` words of 64 bits; bit `i % 64` of word `i / 64` is
//! feature `i`. The bits past the last feature are written as zero and ignored when read.

use crate::parallel::{chunk, for_each_chunk};
use pulp::Arch;

/// Rows that one task packs or unpacks.
const ROWS_PER_TASK: usize = 64;

/// The number of 64-bit words in a row of spikes.
pub(crate) const fn words(features: usize) -> usize {
    features.div_ceil(64)
}

/// A mask of the bits of a row's last word that are features.
pub(super) const fn last_mask(features: usize) -> u64 {
    match features % 64 {
        0 => u64::MAX,
        used => (1 << used) - 1,
    }
}

/// Packs rows of `x` [rows, features] into `bits` [rows, words(features)]: elements for which
/// `spike` returns 1 become set bits, those for which it returns 0 clear ones.
pub(crate) fn pack<T: Sync>(
    x: &[T],
    features: usize,
    bits: &mut [u64],
    spike: impl Fn(&T) -> u8 + Sync,
) {
    if x.is_empty() {
        return;
    }
    for_each_chunk(bits, ROWS_PER_TASK * words(features), |k, bits| {
        let x = chunk(x, ROWS_PER_TASK * features, k);
        pack_rows(x, features, bits, &spike);
    });
}

/// As [`pack`], in the calling thread.
pub(crate) fn pack_rows<T>(x: &[T], features: usize, bits: &mut [u64], spike: impl Fn(&T) -> u8) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let rows = bits.chunks_exact_mut(words(features));
            for (bits, x) in rows.zip(x.chunks_exact(features)) {
                for (word, x) in bits.iter_mut().zip(x.chunks(64)) {
                    *word = pack_word(x, &spike);
                }
            }
        },
    );
}

/// Unpacks `bits` [rows, words(features)] into `x` [rows, features]: `one` for a spike, `zero` for
/// none.
pub(crate) fn unpack<T: Copy + Send + Sync>(
    bits: &[u64],
    features: usize,
    x: &mut [T],
    values: [T; 2],
) {
    if x.is_empty() {
        return;
    }
    for_each_chunk(x, ROWS_PER_TASK * features, |k, x| {
        let bits = chunk(bits, ROWS_PER_TASK * words(features), k);
        unpack_rows(bits, features, x, values);
    });
}

/// As [`unpack`], in the calling thread.
pub(crate) fn unpack_rows<T: Copy>(
    bits: &[u64],
    features: usize,
    x: &mut [T],
    [zero, one]: [T; 2],
) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let rows = x.chunks_exact_mut(features);
            for (x, bits) in rows.zip(bits.chunks_exact(words(features))) {
                for (x, &word) in x.chunks_mut(64).zip(bits) {
                    for (i, x) in x.iter_mut().enumerate() {
                        *x = if word >> i & 1 == 1 { one } else { zero };
                    }
                }
            }
        },
    );
}

/// Transposes 64×64 bits in place: bit `j` of word `i` becomes bit `i` of word `j`.
///
/// Six rounds of swapping ever smaller blocks (Warren, *Hacker's Delight*, 7–3).
#[inline(always)]
pub(super) fn transpose_64(block: &mut [u64; 64]) {
    swap_blocks::<32>(block, 0x0000_0000_FFFF_FFFF);
    swap_blocks::<16>(block, 0x0000_FFFF_0000_FFFF);
    swap_blocks::<8>(block, 0x00FF_00FF_00FF_00FF);
    swap_blocks::<4>(block, 0x0F0F_0F0F_0F0F_0F0F);
    swap_blocks::<2>(block, 0x3333_3333_3333_3333);
    swap_blocks::<1>(block, 0x5555_5555_5555_5555);
}

/// Swaps the off-diagonal W×W blocks of every 2W×2W block; `low` marks the columns of the left ones.
#[inline(always)]
fn swap_blocks<const W: usize>(block: &mut [u64; 64], low: u64) {
    for pair in block.chunks_exact_mut(2 * W) {
        let (upper, lower) = pair.split_at_mut(W);
        for (upper, lower) in upper.iter_mut().zip(lower) {
            let differing = ((*upper >> W) ^ *lower) & low;
            *lower ^= differing;
            *upper ^= differing << W;
        }
    }
}

/// Up to 64 features as one word.
#[inline(always)]
fn pack_word<T>(x: &[T], spike: &impl Fn(&T) -> u8) -> u64 {
    // First one byte per feature, in a loop that vectorizes. The product then gathers the lowest bits
    // of eight bytes in its highest byte: byte i is shifted by 56 − 7i, distinct for each i.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut bytes = [0u8; 64];
    for (byte, x) in bytes.iter_mut().zip(x) {
        *byte = spike(x);
    }
    let (eights, _) = bytes.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |word, (i, &eight)| {
        word | (u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56) << (8 * i)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::spikes;
    use super::*;

    #[test]
    fn packing_and_unpacking_gives_the_spikes_back() {
        for features in [1, 7, 63, 64, 65, 784] {
            let (bits, x) = spikes(70, features, 0.3, 1);
            let mut packed = vec![u64::MAX; bits.len()];
            pack(&x, features, &mut packed, |&x| u8::from(x != 0.0));
            assert!(packed == bits, "{features} packed");
            let mut unpacked = vec![f32::NAN; x.len()];
            unpack(&bits, features, &mut unpacked, [0.0, 1.0]);
            assert!(unpacked == x, "{features} unpacked");
        }
    }

    #[test]
    fn transposing_moves_each_bit_across_the_diagonal() {
        let (bits, _) = spikes(64, 64, 0.5, 3);
        let mut block: [u64; 64] = bits.clone().try_into().unwrap();
        transpose_64(&mut block);
        for (i, row) in bits.iter().enumerate() {
            for (j, column) in block.iter().enumerate() {
                assert_eq!((row >> j) & 1, (column >> i) & 1, "({i}, {j})");
            }
        }
    }
}
