//! Sums of the weight rows of the neurons that fired.

use super::Float;
use crate::parallel;
use crate::spikes::{pack_rows, words};
use spikelet_expr::vectorized;

/// Columns are padded to a multiple of this: a cache line of f32.
const LINE: usize = 16;

/// Rows of the transposed weight of one task.
const BAND: usize = 64;

/// Elements from one row of a table to the next: full cache lines, of wide rows an odd number, so that
/// the same columns of many rows do not map to the same few sets of the cache.
pub(super) fn row_stride(features: usize) -> usize {
    let lines = features.div_ceil(LINE);
    let lines = if lines < 8 { lines } else { lines | 1 };
    lines * LINE
}

/// Elements of a table for this many neurons.
pub(super) fn table_elements(features: usize) -> usize {
    features.saturating_mul(row_stride(features))
}

/// Transposes a weight `[features, features]` into a table: a row for each neuron that may fire.
pub(super) fn transpose<R: Float>(weight: &[R], features: usize, table: &mut [R]) {
    let stride = row_stride(features);
    let table = &mut table[..table_elements(features)];
    parallel::for_each_chunk(table, BAND * stride, |band, table| {
        let first = band * BAND;
        for columns in (0..features).step_by(LINE) {
            for (row, to) in table.chunks_exact_mut(stride).enumerate() {
                for column in columns..(columns + LINE).min(features) {
                    to[column] = weight[column * features + first + row];
                }
            }
        }
        for to in table.chunks_exact_mut(stride) {
            to[features..].fill(R::ZERO);
        }
    });
}

/// The neurons of each row of a tile that fired, in ascending order.
pub(super) struct Fired {
    /// One bit for each neuron, with the rows of [`crate::spikes`].
    bits: Vec<u64>,
    neurons: Vec<u32>,
    /// The end of each row's list.
    ends: Vec<usize>,
}

/// Neurons that are decoded at once.
const BATCH: usize = 8;

/// Elements of the rows whose lists are made at once: 256 KiB of lists.
const LISTED: usize = 1 << 16;

/// How many rows are listed at once, so that the memory of lists does not grow with the number of rows.
pub(super) fn listed_rows(rows: usize, features: usize) -> usize {
    (LISTED / features.max(1)).clamp(1, rows.max(1))
}

impl Fired {
    /// Lists for tiles of up to `rows` rows.
    pub(super) fn new(rows: usize, features: usize) -> Self {
        Self {
            bits: vec![0; rows * words(features)],
            neurons: vec![0; rows * features + BATCH],
            ends: vec![0; rows],
        }
    }

    /// Lists the nonzero elements of each row, and returns them as bits.
    pub(super) fn set<R: Float>(&mut self, spikes: &[R], features: usize) -> &[u64] {
        let width = words(features);
        let bits = &mut self.bits[..spikes.len() / features * width];
        pack_rows(spikes, features, bits, |s| u8::from(*s != R::ZERO));
        let mut end = 0;
        for (row, last) in bits.chunks_exact(width).zip(&mut self.ends) {
            for (word, first) in row.iter().zip((0_u32..).step_by(64)) {
                let mut left = *word;
                let next = end + word.count_ones() as usize;
                // The surplus of a batch is overwritten: almost no branch is mispredicted.
                while end < next {
                    for neuron in &mut self.neurons[end..end + BATCH] {
                        *neuron = first.wrapping_add(left.trailing_zeros());
                        left &= left.wrapping_sub(1);
                    }
                    end += BATCH;
                }
                end = next;
            }
            *last = end;
        }
        bits
    }

    /// The lists of the first `rows` rows.
    pub(super) fn rows(&self, rows: usize) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ends = starts.zip(&self.ends).take(rows);
        ends.map(|(start, end)| &self.neurons[start..*end])
    }

    /// `out = x + Σ table[neuron]` for each row, the sum in ascending order of the neurons that fired.
    /// The bits of a row do not depend on other rows.
    pub(super) fn drive<R: Float>(&self, table: &[R], x: &[R], features: usize, out: &mut [R]) {
        let mut first = 0;
        while first < features {
            // The table's rows are padded to full cache lines.
            let width = match features.next_multiple_of(LINE) - first {
                64.. => 64,
                32.. => 32,
                _ => LINE,
            };
            let columns = (self, table, x, (first, features), &mut *out);
            match width {
                64 => sum_columns::<R, 64>(columns),
                32 => sum_columns::<R, 32>(columns),
                _ => sum_columns::<R, LINE>(columns),
            }
            first += width;
        }
    }
}

type Columns<'a, R> = (&'a Fired, &'a [R], &'a [R], (usize, usize), &'a mut [R]);

/// The sums of W columns.
fn sum_columns<R: Float, const W: usize>(columns: Columns<'_, R>) {
    vectorized(
        columns,
        #[inline(always)]
        |(fired, table, x, (first, features), out)| {
            let stride = row_stride(features);
            let end = features.min(first + W);
            let rows = x.chunks_exact(features).zip(out.chunks_exact_mut(features));
            for ((x, out), neurons) in rows.zip(fired.rows(x.len() / features)) {
                let mut sums = [R::ZERO; W];
                for &neuron in neurons {
                    let at = neuron as usize * stride + first;
                    let weights = &table[at..at + W];
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        *sum = *sum + *weight;
                    }
                }
                let columns = out[first..end].iter_mut().zip(&x[first..end]);
                for ((out, x), sum) in columns.zip(&sums) {
                    *out = *x + *sum;
                }
            }
        },
    );
}

/// The element-wise sum, written to `out`.
pub(super) fn add<R: Float>(a: &[R], b: &[R], out: &mut [R]) {
    vectorized(
        (a, b, out),
        #[inline(always)]
        |(a, b, out)| {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = *a + *b;
            }
        },
    );
}
