//! Packing spikes in bits and counting them.
//!
//! A row of spikes takes `words(features)` words of 64 bits; bit `i % 64` of word `i / 64` is
//! feature `i`. The bits past the last feature are written as zero and ignored when read.

use super::error::{SpikeError, check};
use pulp::Arch;
use rayon::prelude::*;

/// Rows that one task packs, unpacks or counts.
const ROWS_PER_TASK: usize = 64;

/// Words of 64 bits in a row of spikes.
///
/// ```
/// assert_eq!(spikelet_cpu::spikes::words(784), 13);
/// ```
pub const fn words(features: usize) -> usize {
    features.div_ceil(64)
}

/// The bits of the last word of a row that stand for features.
pub(super) const fn last_mask(features: usize) -> u64 {
    match features % 64 {
        0 => u64::MAX,
        used => (1 << used) - 1,
    }
}

/// Packs rows of `f32` [rows, features]: what is not zero (NaN included) becomes a spike.
///
/// `bits` is [rows, words(features)].
///
/// ```
/// # use spikelet_cpu::spikes;
/// let mut bits = [0];
/// spikes::pack_f32(&[1.0, 0.0, 1.0], 1, 3, &mut bits)?;
/// assert_eq!(bits, [0b101]);
/// # Ok::<(), spikelet_cpu::spikes::SpikeError>(())
/// ```
///
/// # Errors
/// [`SpikeError::Length`].
pub fn pack_f32(
    x: &[f32],
    rows: usize,
    features: usize,
    bits: &mut [u64],
) -> Result<(), SpikeError> {
    pack(x, rows, features, bits, |&value| u8::from(value != 0.0))
}

/// Packs rows of bytes [rows, features]: what is not zero becomes a spike.
///
/// # Errors
/// [`SpikeError::Length`].
pub fn pack_u8(x: &[u8], rows: usize, features: usize, bits: &mut [u64]) -> Result<(), SpikeError> {
    pack(x, rows, features, bits, |&value| u8::from(value != 0))
}

/// Unpacks spikes to `f32` [rows, features]: 1 for a spike, 0 for none.
///
/// # Errors
/// [`SpikeError::Length`].
pub fn unpack_f32(
    bits: &[u64],
    rows: usize,
    features: usize,
    x: &mut [f32],
) -> Result<(), SpikeError> {
    check(
        "bits",
        "[rows, words(features)]",
        &[rows, words(features)],
        bits.len(),
    )?;
    check("x", "[rows, features]", &[rows, features], x.len())?;
    if x.is_empty() {
        return Ok(());
    }
    let arch = Arch::new();
    x.par_chunks_mut(ROWS_PER_TASK * features)
        .zip(bits.par_chunks(ROWS_PER_TASK * words(features)))
        .for_each(|(x, bits)| {
            arch.dispatch(
                #[inline(always)]
                || {
                    let rows = x.chunks_exact_mut(features);
                    for (x, bits) in rows.zip(bits.chunks_exact(words(features))) {
                        for (x, &word) in x.chunks_mut(64).zip(bits) {
                            for (i, x) in x.iter_mut().enumerate() {
                                *x = ((word >> i) & 1) as f32;
                            }
                        }
                    }
                },
            );
        });
    Ok(())
}

/// How many spikes there are.
///
/// # Errors
/// [`SpikeError::Length`].
pub fn count(bits: &[u64], rows: usize, features: usize) -> Result<u64, SpikeError> {
    check(
        "bits",
        "[rows, words(features)]",
        &[rows, words(features)],
        bits.len(),
    )?;
    if bits.is_empty() {
        return Ok(0);
    }
    let past_end = !last_mask(features);
    let arch = Arch::new();
    Ok(bits
        .par_chunks(ROWS_PER_TASK * words(features))
        .map(|bits| {
            arch.dispatch(
                #[inline(always)]
                || {
                    let all: u64 = bits.iter().map(|word| u64::from(word.count_ones())).sum();
                    let past: u64 = bits
                        .iter()
                        .skip(words(features) - 1)
                        .step_by(words(features))
                        .map(|word| u64::from((word & past_end).count_ones()))
                        .sum();
                    all - past
                },
            )
        })
        .sum())
}

/// The share of features that spike, 0 … 1; zero if there are none.
///
/// # Errors
/// [`SpikeError::Length`].
pub fn density(bits: &[u64], rows: usize, features: usize) -> Result<f64, SpikeError> {
    let spikes = count(bits, rows, features)?;
    let places = rows as f64 * features as f64;
    Ok(if places == 0.0 {
        0.0
    } else {
        spikes as f64 / places
    })
}

/// Firing rates: the mean over time of spikes [steps, samples, features] as `f32` [samples, features].
///
/// The counts are exact up to 2²⁴ steps; each is divided by the number of steps once.
///
/// # Errors
/// [`SpikeError::Length`], or [`SpikeError::Size`] if there are no steps.
pub fn time_mean(
    bits: &[u64],
    steps: usize,
    samples: usize,
    features: usize,
    mean: &mut [f32],
) -> Result<(), SpikeError> {
    let width = words(features);
    check(
        "bits",
        "[steps, samples, words(features)]",
        &[steps, samples, width],
        bits.len(),
    )?;
    check(
        "mean",
        "[samples, features]",
        &[samples, features],
        mean.len(),
    )?;
    if steps == 0 {
        return Err(SpikeError::Size {
            what: "the number of steps",
            given: 0,
            least: 1,
        });
    }
    if mean.is_empty() {
        return Ok(());
    }
    let arch = Arch::new();
    mean.par_chunks_mut(features)
        .enumerate()
        .for_each(|(sample, mean)| {
            arch.dispatch(
                #[inline(always)]
                || {
                    for (w, mean) in mean.chunks_mut(64).enumerate() {
                        let mut counts = [0.0f32; 64];
                        for step in 0..steps {
                            let word = bits[(step * samples + sample) * width + w];
                            for (i, count) in counts.iter_mut().enumerate() {
                                *count += ((word >> i) & 1) as f32;
                            }
                        }
                        for (mean, count) in mean.iter_mut().zip(counts) {
                            *mean = count / steps as f32;
                        }
                    }
                },
            );
        });
    Ok(())
}

/// Transposes 64×64 bits in place: bit `j` of word `i` becomes bit `i` of word `j`.
///
/// Six rounds of swapping ever smaller blocks (Warren, *Hacker's Delight*, 7–3).
#[inline(always)]
pub fn transpose_64(block: &mut [u64; 64]) {
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

fn pack<T: Sync>(
    x: &[T],
    rows: usize,
    features: usize,
    bits: &mut [u64],
    spike: impl Fn(&T) -> u8 + Sync,
) -> Result<(), SpikeError> {
    check("x", "[rows, features]", &[rows, features], x.len())?;
    check(
        "bits",
        "[rows, words(features)]",
        &[rows, words(features)],
        bits.len(),
    )?;
    if x.is_empty() {
        return Ok(());
    }
    let arch = Arch::new();
    bits.par_chunks_mut(ROWS_PER_TASK * words(features))
        .zip(x.par_chunks(ROWS_PER_TASK * features))
        .for_each(|(bits, x)| {
            arch.dispatch(
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
        });
    Ok(())
}

/// Up to 64 features as one word.
#[inline(always)]
fn pack_word<T>(x: &[T], spike: &impl Fn(&T) -> u8) -> u64 {
    // One byte a feature first, a loop that vectorizes. The product then gathers the lowest bits
    // of eight bytes in its highest byte: byte i is shifted by 56 − 7i, which no two share.
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
            pack_f32(&x, 70, features, &mut packed).unwrap();
            assert!(packed == bits, "{features} from f32");
            let bytes: Vec<u8> = x.iter().map(|&x| 2 * x as u8).collect();
            packed.fill(u64::MAX);
            pack_u8(&bytes, 70, features, &mut packed).unwrap();
            assert!(packed == bits, "{features} from bytes");
            let mut unpacked = vec![f32::NAN; x.len()];
            unpack_f32(&bits, 70, features, &mut unpacked).unwrap();
            assert!(unpacked == x, "{features} to f32");
        }
    }

    #[test]
    fn minus_zero_is_no_spike_and_nan_is_one() {
        let mut bits = [0];
        pack_f32(&[-0.0, f32::NAN, -1.0, 1e-45], 1, 4, &mut bits).unwrap();
        assert_eq!(bits, [0b1110]);
    }

    #[test]
    fn counting_ignores_the_bits_past_the_last_feature() {
        let (bits, x) = spikes(130, 65, 0.4, 2);
        let expected = x.iter().filter(|&&x| x == 1.0).count() as u64;
        let dirty: Vec<u64> = bits
            .chunks(2)
            .flat_map(|row| [row[0], row[1] | 0xFF00])
            .collect();
        assert_eq!(count(&bits, 130, 65), Ok(expected));
        assert_eq!(count(&dirty, 130, 65), Ok(expected));
        assert_eq!(
            density(&dirty, 130, 65),
            Ok(expected as f64 / (130.0 * 65.0))
        );
        assert_eq!(density(&[], 0, 65), Ok(0.0));
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

    #[test]
    fn the_mean_over_time_is_the_firing_rate() {
        let (steps, samples, features) = (5, 3, 70);
        let (bits, x) = spikes(steps * samples, features, 0.4, 4);
        let mut mean = vec![f32::NAN; samples * features];
        time_mean(&bits, steps, samples, features, &mut mean).unwrap();
        for (i, &mean) in mean.iter().enumerate() {
            let sum: f32 = (0..steps).map(|t| x[t * samples * features + i]).sum();
            assert_eq!(mean, sum / 5.0);
        }
        assert!(time_mean(&[], 0, 0, 1, &mut []).is_err());
    }
}
