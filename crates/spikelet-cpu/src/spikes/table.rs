//! The inner kernel: the sum of the rows of a table given by a list of indices.

use crate::gemm::GemmElement;
use crate::transpose::transpose;
use pulp::Simd;

/// `f32` of a cache line and of the widest vector: table rows are padded to a multiple of it.
const LINE: usize = 16;

/// Elements from one row of a table of `features` columns to the next.
///
/// Rows are padded to full cache lines, so that no vector straddles two (which costs a third of the
/// speed), and wide rows to an odd number of lines, so that the same columns of many rows do not
/// map to the same few sets of the cache.
pub(super) const fn row_stride(features: usize) -> usize {
    let lines = features.div_ceil(LINE);
    let lines = if lines < 8 { lines } else { lines | 1 };
    lines * LINE
}

/// Elements of a table with a row of `features` columns for each of `rows` neurons.
pub(crate) fn table_elements(rows: usize, features: usize) -> usize {
    rows.saturating_mul(row_stride(features))
}

/// Transposes a weight `[features, rows]` into a table: a row for each neuron that may fire.
pub(crate) fn fill_table<R: GemmElement>(
    weight: &[R],
    (features, rows): (usize, usize),
    table: &mut [R],
) {
    if features > 0 && rows > 0 {
        let table = (table, row_stride(features));
        transpose(weight, (features, rows), table, R::ZERO);
    }
}

/// A column range of a table, as vectors.
#[derive(Clone, Copy)]
pub(super) struct TableColumns<'a, S: Simd, R: GemmElement> {
    table: &'a [R::Vector<S>],
    /// Vectors from one row to the next.
    stride: usize,
    /// The first vector of the range in each row.
    first: usize,
}

impl<'a, S: Simd, R: GemmElement> TableColumns<'a, S, R> {
    /// `table` has rows of `stride` elements, a multiple of [`LINE`].
    #[inline(always)]
    pub(super) fn new(table: &'a [R], stride: usize, first: usize) -> Self {
        Self {
            table: R::vectors::<S>(table).0,
            stride: stride / R::lanes::<S>(),
            first,
        }
    }

    /// `sum` plus the rows of the list, in its order; the sums stay in registers.
    #[inline(always)]
    pub(super) fn add<const N: usize>(
        self,
        simd: S,
        rows: &[u32],
        mut sum: [R::Vector<S>; N],
    ) -> [R::Vector<S>; N] {
        for &row in rows {
            let at = row as usize * self.stride + self.first;
            let row = &self.table[at..at + N];
            for j in 0..N {
                sum[j] = R::sum(simd, sum[j], row[j]);
            }
        }
        sum
    }
}

/// Reads N vectors from a row that may end within the last of them; zeros beyond.
#[inline(always)]
pub(super) fn load<S: Simd, R: GemmElement, const N: usize>(
    simd: S,
    row: &[R],
) -> [R::Vector<S>; N] {
    let (whole, rest) = R::vectors::<S>(row);
    let mut values = [R::splat(simd, R::ZERO); N];
    if whole.len() >= N {
        values.copy_from_slice(&whole[..N]);
    } else {
        values[..whole.len()].copy_from_slice(whole);
        values[whole.len()] = R::load(simd, rest);
    }
    values
}

/// Writes N vectors to a row that may end within the last of them.
#[inline(always)]
pub(super) fn store<S: Simd, R: GemmElement, const N: usize>(
    simd: S,
    row: &mut [R],
    values: [R::Vector<S>; N],
) {
    let (whole, rest) = R::vectors_mut::<S>(row);
    let count = whole.len();
    if count >= N {
        whole[..N].copy_from_slice(&values);
    } else {
        whole.copy_from_slice(&values[..count]);
        R::store(simd, rest, values[count]);
    }
}

/// Partitions the columns of a result into chunks of full vectors of nearly equal width, each narrow
/// enough for its sums to stay in registers.
#[inline(always)]
pub(super) fn chunks<S: Simd, R: GemmElement>(features: usize) -> impl Iterator<Item = Chunk> {
    let most = if S::REGISTER_COUNT >= 32 { 16 } else { 12 };
    let vectors = features.div_ceil(R::lanes::<S>());
    let width = vectors.div_ceil(vectors.div_ceil(most).max(1));
    (0..vectors).step_by(width.max(1)).map(move |first| {
        let end = (first + width).min(vectors);
        Chunk {
            first,
            vectors: end - first,
            elements: first * R::lanes::<S>()..(end * R::lanes::<S>()).min(features),
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
    pub(super) elements: std::ops::Range<usize>,
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
