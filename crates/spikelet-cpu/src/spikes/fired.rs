//! Lists of the elements that are not 0.

use super::table::{Chunk, TableColumns, chunks, load, row_stride, store, with_vectors};
use super::{pack_rows, words};
use crate::gemm::GemmElement;
use pulp::{Arch, Simd, WithSimd};

/// Indices that are decoded at once.
pub(super) const BATCH: usize = 8;

/// Writes the indices of the set bits of `words` to a list in ascending order, and returns their number. The list has
/// [`BATCH`] elements more.
///
/// A batch of indices is written even where fewer bits are left, and the surplus is overwritten: almost no branch is
/// mispredicted.
#[inline(always)]
pub(super) fn decode(words: impl Iterator<Item = u64>, first: usize, list: &mut [u32]) -> usize {
    let mut count = 0;
    for (word, base) in words.zip((first as u32..).step_by(64)) {
        let (mut left, mut at) = (word, count);
        count += word.count_ones() as usize;
        while at < count {
            for index in &mut list[at..at + BATCH] {
                *index = base.wrapping_add(left.trailing_zeros());
                left &= left.wrapping_sub(1);
            }
            at += BATCH;
        }
    }
    count
}

/// The elements of each row of a tile that are not 0, such as the neurons that fired, in ascending order.
pub(crate) struct Fired {
    bits: Vec<u64>,
    neurons: Vec<u32>,
    /// The end of each row's list.
    ends: Vec<usize>,
}

/// Elements of the rows whose lists are made at once: 256 KiB of lists.
const LISTED: usize = 1 << 16;

/// How many rows are listed at once, so that the memory of lists does not grow with the number of rows.
pub(crate) fn listed_rows(rows: usize, features: usize) -> usize {
    (LISTED / features.max(1)).clamp(1, rows.max(1))
}

impl Fired {
    /// Lists for tiles of up to `rows` rows.
    pub(crate) fn new(rows: usize, features: usize) -> Self {
        Self {
            bits: vec![0; rows * words(features)],
            neurons: vec![0; rows * features + BATCH],
            ends: vec![0; rows],
        }
    }

    /// Lists the nonzero elements of each row, and returns them as bits.
    pub(crate) fn set<R: GemmElement>(&mut self, spikes: &[R], features: usize) -> &[u64] {
        let width = words(features);
        let bits = &mut self.bits[..spikes.len() / features * width];
        pack_rows(spikes, features, bits, |s| u8::from(*s != R::ZERO));
        let mut end = 0;
        for (row, last) in bits.chunks_exact(width).zip(&mut self.ends) {
            end += decode(row.iter().copied(), 0, &mut self.neurons[end..]);
            *last = end;
        }
        bits
    }

    /// The lists of the first `rows` rows.
    pub(crate) fn rows(&self, rows: usize) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ends = starts.zip(&self.ends).take(rows);
        ends.map(|(start, end)| &self.neurons[start..*end])
    }

    /// `out = x + Σ table[neuron]` for each row, the sum from zero in ascending order of the neurons that fired. The bits
    /// of a row do not depend on other rows.
    pub(crate) fn drive<R: GemmElement>(
        &self,
        table: &[R],
        x: &[R],
        features: usize,
        out: &mut [R],
    ) {
        Arch::new().dispatch(Drive {
            fired: self,
            table,
            x,
            features,
            out,
        });
    }
}

struct Drive<'a, R> {
    fired: &'a Fired,
    table: &'a [R],
    x: &'a [R],
    features: usize,
    out: &'a mut [R],
}

impl<R: GemmElement> WithSimd for Drive<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for chunk in chunks::<S, R>(self.features) {
            let drive = &mut self;
            with_vectors!(chunk.vectors, drive.columns(simd, &chunk));
        }
    }
}

impl<R: GemmElement> Drive<'_, R> {
    #[inline(always)]
    fn columns<S: Simd, const N: usize>(&mut self, simd: S, chunk: &Chunk) {
        let features = self.features;
        let table = TableColumns::<S, R>::new(self.table, row_stride(features), chunk.first);
        let rows = self.x.chunks_exact(features);
        let lists = self.fired.rows(self.x.len() / features);
        let out = self.out.chunks_exact_mut(features);
        for ((x, out), neurons) in rows.zip(out).zip(lists) {
            let sums = table.add(simd, neurons, [R::splat(simd, R::ZERO); N]);
            let mut driven = load::<S, R, N>(simd, &x[chunk.elements.clone()]);
            for (x, sum) in driven.iter_mut().zip(sums) {
                *x = R::sum(simd, *x, sum);
            }
            store(simd, &mut out[chunk.elements.clone()], driven);
        }
    }
}
