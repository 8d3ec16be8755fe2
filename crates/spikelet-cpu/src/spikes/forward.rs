//! The forward pass of a linear layer on spikes.

use super::LinearShape;
use super::bits::{last_mask, words};
use super::fired::{BATCH, decode};
use super::table::{
    Chunk, TableColumns, chunks, load, row_stride, store, table_elements, with_vectors,
};
use crate::parallel::{chunk, for_each_chunk};
use pulp::{Arch, Simd, WithSimd};

/// The most words decoded at once.
pub(super) const TILE_WORDS: usize = 16;

/// Space for the indices of the set bits of [`TILE_WORDS`] words.
pub(super) const INDICES: usize = TILE_WORDS * 64 + BATCH;
pub(super) type Indices = [u32; INDICES];

/// The most rows of one task. Rows are independent, so the partition does not affect the result.
const ROWS_PER_TASK: usize = 128;

/// y = x·Wᵀ for spikes x: each output row is the sum of the rows of the table whose feature spikes, in ascending order:
/// bitwise the same on every machine.
///
/// | argument | shape |
/// |---|---|
/// | `bits` | `[rows, words(in)]`, bits past the last feature are ignored |
/// | `table` | the weight by [`super::fill_table`]; it is fastest if it starts on a multiple of 64 bytes |
/// | `out` | `[rows, out]`, overwritten |
///
/// Cost: one addition per spike and output feature; nothing is allocated.
pub(crate) fn forward(shape: LinearShape, bits: &[u64], table: &[f32], out: &mut [f32]) {
    let LinearShape {
        rows,
        in_features,
        out_features,
    } = shape;
    let width = words(in_features);
    let table = &table[..table_elements(in_features, out_features)];
    let out = &mut out[..rows * out_features];
    if out.is_empty() || in_features == 0 {
        return out.fill(0.0);
    }
    // Small batches take fewer rows per task, so that all cores are used.
    let block = rows.div_ceil(64).clamp(8, ROWS_PER_TASK);
    let arch = Arch::new();
    for_each_chunk(out, block * out_features, |k, out| {
        arch.dispatch(RowBlock {
            shape,
            bits: chunk(bits, block * width, k),
            table,
            out,
        });
    });
}

/// Some rows of the result.
struct RowBlock<'a> {
    shape: LinearShape,
    bits: &'a [u64],
    table: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for RowBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut indices: Indices = [0; INDICES];
        for chunk in chunks::<S, f32>(self.shape.out_features) {
            let block = &mut self;
            with_vectors!(chunk.vectors, block.columns(simd, &chunk, &mut indices));
        }
    }
}

impl RowBlock<'_> {
    /// The columns of one chunk. The features are processed a tile at a time, so that the part of
    /// the table in use stays in the L2 cache for all rows.
    #[inline(always)]
    fn columns<S: Simd, const N: usize>(&mut self, simd: S, chunk: &Chunk, indices: &mut Indices) {
        let LinearShape {
            in_features,
            out_features,
            ..
        } = self.shape;
        let width = words(in_features);
        let columns =
            TableColumns::<S, f32>::new(self.table, row_stride(out_features), chunk.first);
        for tile in (0..width).step_by(TILE_WORDS) {
            let end = (tile + TILE_WORDS).min(width);
            let mask = if end == width {
                last_mask(in_features)
            } else {
                u64::MAX
            };
            let rows = self.out.chunks_exact_mut(out_features);
            for (out, bits) in rows.zip(self.bits.chunks_exact(width)) {
                let out = &mut out[chunk.elements.clone()];
                let last = std::iter::once(bits[end - 1] & mask);
                let words = bits[tile..end - 1].iter().copied().chain(last);
                let count = decode(words, 64 * tile, indices);
                let sum = match tile {
                    0 => [simd.splat_f32s(0.0); N],
                    _ => load(simd, out),
                };
                store(simd, out, columns.add(simd, &indices[..count], sum));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spikes::tests::{Random, bits_of, spikes};

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for out_features in [10, 196, 300] {
            let shape = LinearShape {
                rows: 9,
                in_features: 70,
                out_features,
            };
            let (bits, _) = spikes(9, 70, 0.4, 22);
            let mut random = Random(23);
            let table = random.take(70 * row_stride(out_features));
            let run = |with: &dyn Fn(RowBlock)| {
                let mut out = vec![f32::NAN; 9 * out_features];
                with(RowBlock {
                    shape,
                    bits: &bits,
                    table: &table,
                    out: &mut out,
                });
                bits_of(&out)
            };
            let scalar = run(&|block| Simd::vectorize(pulp::Scalar::new(), block));
            assert!(scalar == run(&|block| Arch::new().dispatch(block)));
            #[cfg(target_arch = "x86_64")]
            if let Some(v3) = pulp::x86::V3::try_new() {
                assert!(scalar == run(&|block| Simd::vectorize(v3, block)));
            }
        }
    }
}
