//! The inner kernel of both directions: the sum of the rows of a table given by a list of indices.

use pulp::Simd;

/// Floats of a cache line and of the widest vector: table rows are padded to a multiple of it.
const LINE: usize = 16;

/// Floats from one row of a table of `features` columns to the next.
///
/// Rows are padded to full cache lines, so that no vector straddles two (which costs a third of the
/// speed), and wide rows to an odd number of lines, so that the same columns of many rows do not
/// map to the same few sets of the cache.
///
/// ```
/// use spikelet_cpu::spikes::row_stride;
/// assert_eq!(row_stride(10), 16);
/// assert_eq!(row_stride(196), 208);
/// assert_eq!(row_stride(2048), 2064);
/// ```
pub const fn row_stride(features: usize) -> usize {
    let lines = features.div_ceil(LINE);
    if lines < 8 {
        lines * LINE
    } else {
        (lines | 1) * LINE
    }
}

/// The most words decoded at once.
pub(super) const TILE_WORDS: usize = 16;

/// The indices of the set bits of up to [`TILE_WORDS`] words.
pub(super) struct Indices {
    // 64 more elements than bits, because decoding writes ahead.
    list: [u32; TILE_WORDS * 64 + 64],
}

impl Indices {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            list: [0; TILE_WORDS * 64 + 64],
        }
    }

    /// The set bits of `words`, counted from `first`, in increasing order.
    ///
    /// Eight indices are written at a time even where fewer bits are left, and the surplus is
    /// overwritten: this leaves almost no branches to mispredict.
    #[inline(always)]
    pub(super) fn decode(&mut self, words: impl Iterator<Item = u64>, first: usize) -> &[u32] {
        const BATCH: usize = 8;
        let mut len = 0;
        for (w, word) in words.take(TILE_WORDS).enumerate() {
            let base = (first + 64 * w) as u32;
            let end = len + word.count_ones() as usize;
            let mut left = word;
            let mut at = len;
            while at < end {
                for slot in &mut self.list[at..at + BATCH] {
                    *slot = base.wrapping_add(left.trailing_zeros());
                    left &= left.wrapping_sub(1);
                }
                at += BATCH;
            }
            len = end;
        }
        &self.list[..len]
    }
}

/// A column range of a table, as vectors.
#[derive(Clone, Copy)]
pub(super) struct TableColumns<'a, S: Simd> {
    table: &'a [S::f32s],
    /// Vectors from one row to the next.
    stride: usize,
    /// The first vector of the range in each row.
    first: usize,
}

impl<'a, S: Simd> TableColumns<'a, S> {
    /// `table` has rows of `stride` floats, a multiple of [`LINE`].
    #[inline(always)]
    pub(super) fn new(table: &'a [f32], stride: usize, first: usize) -> Self {
        Self {
            table: S::as_simd_f32s(table).0,
            stride: stride / S::F32_LANES,
            first,
        }
    }

    /// `sum` plus the rows of the list, in its order; the sums stay in registers.
    #[inline(always)]
    pub(super) fn add<const N: usize>(
        self,
        simd: S,
        rows: &[u32],
        mut sum: [S::f32s; N],
    ) -> [S::f32s; N] {
        for &row in rows {
            let at = row as usize * self.stride + self.first;
            let row = &self.table[at..at + N];
            for j in 0..N {
                sum[j] = simd.add_f32s(sum[j], row[j]);
            }
        }
        sum
    }
}

/// Reads N vectors from a row that may end within the last of them; zeros beyond.
#[inline(always)]
pub(super) fn load<S: Simd, const N: usize>(simd: S, row: &[f32]) -> [S::f32s; N] {
    let (whole, rest) = S::as_simd_f32s(row);
    let mut values = [simd.splat_f32s(0.0); N];
    if whole.len() >= N {
        values.copy_from_slice(&whole[..N]);
    } else {
        values[..whole.len()].copy_from_slice(whole);
        values[whole.len()] = simd.partial_load_f32s(rest);
    }
    values
}

/// Writes N vectors to a row that may end within the last of them.
#[inline(always)]
pub(super) fn store<S: Simd, const N: usize>(simd: S, row: &mut [f32], values: [S::f32s; N]) {
    let (whole, rest) = S::as_mut_simd_f32s(row);
    let count = whole.len();
    if count >= N {
        whole[..N].copy_from_slice(&values);
    } else {
        whole.copy_from_slice(&values[..count]);
        simd.partial_store_f32s(rest, values[count]);
    }
}

/// Partitions the columns of a result into chunks of full vectors of nearly equal width, each narrow
/// enough for its sums to stay in registers.
#[inline(always)]
pub(super) fn chunks<S: Simd>(features: usize) -> impl Iterator<Item = Chunk> {
    let most = if S::REGISTER_COUNT >= 32 { 16 } else { 12 };
    let vectors = features.div_ceil(S::F32_LANES);
    let width = vectors.div_ceil(vectors.div_ceil(most).max(1));
    (0..vectors).step_by(width.max(1)).map(move |first| {
        let end = (first + width).min(vectors);
        Chunk {
            first,
            vectors: end - first,
            floats: first * S::F32_LANES..(end * S::F32_LANES).min(features),
        }
    })
}

/// Some columns of a result.
pub(super) struct Chunk {
    /// First vector.
    pub(super) first: usize,
    /// Number of vectors; the last may be partly used.
    pub(super) vectors: usize,
    /// The columns themselves.
    pub(super) floats: std::ops::Range<usize>,
}

/// Calls a method with the number of vectors as a constant, so that the sums stay in registers.
macro_rules! with_vectors {
    ($count:expr, $receiver:ident.$method:ident($($argument:expr),* $(,)?)) => {
        with_vectors!(@ $count, $receiver, $method, ($($argument),*),
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $count:expr, $receiver:ident, $method:ident, $arguments:tt, $($n:literal)*) => {
        match $count {
            $($n => with_vectors!(@call $n, $receiver, $method, $arguments),)*
            _ => unreachable!("chunks are 1 to 16 vectors wide"),
        }
    };
    (@call $n:literal, $receiver:ident, $method:ident, ($($argument:expr),*)) => {
        $receiver.$method::<S, $n>($($argument),*)
    };
}
pub(super) use with_vectors;
