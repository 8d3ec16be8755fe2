//! Binary values, one bit each.
//!
//! A row, the last axis of a tensor, is packed into 64-bit words, first element in the lowest bit, and padded with
//! zeros to a whole word: the layout of the type `bits` of compiled programs. Stacking samples copies words.

/// The number of words of a tensor of bits; `None` if it overflows.
///
/// ```
/// assert_eq!(spikelet_data::bit_words(&[2, 100]), Some(4));
/// assert_eq!(spikelet_data::bit_words(&[]), Some(1));
/// ```
#[must_use]
pub fn bit_words(shape: &[usize]) -> Option<usize> {
    let (row, rows) = split(shape);
    rows.iter()
        .try_fold(row.div_ceil(64), |words, &size| words.checked_mul(size))
}

/// Packs a tensor of binary values: an element is set if it is not 0. Elements beyond the shape are ignored, and
/// missing elements are 0.
///
/// ```
/// use spikelet_data::{pack_bits, unpack_bits};
///
/// let spikes = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
/// let words = pack_bits(&spikes, &[2, 3]);
/// assert_eq!(words, [0b001, 0b011]);
/// assert_eq!(unpack_bits(&words, &[2, 3]), [true, false, false, true, true, false]);
/// ```
#[must_use]
pub fn pack_bits<T: Copy + Default + PartialEq>(values: &[T], shape: &[usize]) -> Vec<u64> {
    let (row, rows) = split(shape);
    let rows: usize = rows.iter().product();
    let mut words = Vec::with_capacity(rows * row.div_ceil(64));
    let mut rest = values;
    for _ in 0..rows {
        let (this, next) = rest.split_at(row.min(rest.len()));
        rest = next;
        let start = words.len();
        words.resize(start + row.div_ceil(64), 0);
        for (at, &value) in this.iter().enumerate() {
            words[start + at / 64] |= u64::from(value != T::default()) << (at % 64);
        }
    }
    words
}

/// The binary values of packed words, row-major. Missing words are 0.
#[must_use]
pub fn unpack_bits(words: &[u64], shape: &[usize]) -> Vec<bool> {
    let (row, rows) = split(shape);
    let rows: usize = rows.iter().product();
    let row_words = row.div_ceil(64);
    let bit = |r: usize, at: usize| {
        let word = words.get(r * row_words + at / 64).copied().unwrap_or(0);
        word >> (at % 64) & 1 == 1
    };
    (0..rows)
        .flat_map(|r| (0..row).map(move |at| (r, at)))
        .map(|(r, at)| bit(r, at))
        .collect()
}

/// The last axis and the axes before it.
fn split(shape: &[usize]) -> (usize, &[usize]) {
    match shape {
        [] => (1, &[]),
        [rows @ .., row] => (*row, rows),
    }
}
