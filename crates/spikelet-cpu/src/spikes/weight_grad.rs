//! The gradient of the weights of a linear layer on spikes.

use super::LinearShape;
use super::bits::{transpose_64, words};
use super::fired::decode;
use super::forward::{INDICES, Indices, TILE_WORDS};
use super::table::{Chunk, TableColumns, chunks, load, row_stride, store, with_vectors};
use crate::memory::SharedSlice;
use crate::parallel::{chunk, for_each, for_each_chunk};
use pulp::{Arch, Simd, WithSimd, bytemuck};

/// Features of one task. Features are independent, so the partition does not affect the result.
const FEATURES_PER_TASK: usize = 16;
/// Floats of a tile of `grad_out`, which stays in the L2 cache.
const TILE_FLOATS: usize = 1 << 17;
/// Words of a cache line, the most by which the start of the scratch is moved for alignment.
const LINE_WORDS: usize = 8;

/// The scratch size of [`weight_grad`] in 64-bit words: about 512 KiB for a tile of `grad_out` and at
/// most 128 bytes per input feature, for any number of rows.
pub(crate) fn weight_grad_scratch_words(shape: LinearShape) -> usize {
    let tile = tile_rows(shape);
    let bits = words(shape.in_features)
        .saturating_mul(64)
        .saturating_mul(tile / 64);
    let grads = (tile / 2).saturating_mul(row_stride(shape.out_features));
    bits.saturating_add(grads).saturating_add(LINE_WORDS)
}

/// Rows of a tile, a multiple of 64 up to [`TILE_WORDS`] words of bits.
fn tile_rows(shape: LinearShape) -> usize {
    let rows = TILE_FLOATS / row_stride(shape.out_features).max(1) / 64;
    (rows.clamp(1, TILE_WORDS) * 64).min(shape.rows.next_multiple_of(64))
}

/// dWᵀ = xᵀ·dY for spikes x: each row of `dwt` is the sum of the rows of `grad_out` in which
/// that feature spikes.
///
/// | argument | shape |
/// |---|---|
/// | `bits` | `[rows, words(in)]`, bits past the last feature are ignored |
/// | `grad_out` | `[rows, out]` |
/// | `dwt` | `[in, out]`, overwritten; the transpose of the layout of W |
/// | `scratch` | at least [`weight_grad_scratch_words`] |
///
/// The rows are added in ascending order: bitwise the same on every machine. Cost: one addition per spike and output
/// feature; nothing is allocated.
pub(crate) fn weight_grad(
    shape: LinearShape,
    bits: &[u64],
    grad_out: &[f32],
    dwt: &mut [f32],
    scratch: &mut [u64],
) {
    let LinearShape {
        rows,
        in_features,
        out_features,
    } = shape;
    let width = words(in_features);
    let dwt = &mut dwt[..in_features * out_features];
    if dwt.is_empty() || rows == 0 {
        return dwt.fill(0.0);
    }
    let tile = tile_rows(shape);
    let stride = row_stride(out_features);
    // At most LINE_WORDS − 1 for 8-byte words; alignment affects only the speed.
    let skip = scratch.as_ptr().align_offset(64).min(LINE_WORDS);
    let (grads, columns) = scratch[skip..].split_at_mut(tile / 2 * stride);
    let grads: &mut [f32] = bytemuck::cast_slice_mut(grads);
    let columns = &mut columns[..width * 64 * (tile / 64)];
    let arch = Arch::new();

    for first in (0..rows).step_by(tile) {
        let count = tile.min(rows - first);
        let column_words = count.div_ceil(64);
        let bits = &bits[first * width..(first + count) * width];
        let grad_out = &grad_out[first * out_features..(first + count) * out_features];
        let grads = &mut grads[..count * stride];
        let columns = &mut columns[..width * 64 * column_words];
        arrange(
            (grad_out, out_features, &mut *grads, stride),
            (bits, width, &mut *columns, column_words),
        );
        for_each_chunk(dwt, FEATURES_PER_TASK * out_features, |k, dwt| {
            arch.dispatch(FeatureBlock {
                out_features,
                columns: chunk(columns, FEATURES_PER_TASK * column_words, k),
                column_words,
                grads,
                dwt,
                fresh: first == 0,
            });
        });
    }
}

/// Rows of a gradient, their width, and the wider rows of the scratch with theirs.
type Padded<'a> = (&'a [f32], usize, &'a mut [f32], usize);

/// Rows of bits, their words, and the transposed rows with theirs.
type Transposed<'a> = (&'a [u64], usize, &'a mut [u64], usize);

/// Pads the rows of the gradient and transposes those of the bits, at the same time.
fn arrange(
    (from, out, to, stride): Padded<'_>,
    (bits, width, columns, column_words): Transposed<'_>,
) {
    const ROWS: usize = 64;
    let pieces = (to.len() / stride).div_ceil(ROWS);
    let length = to.len();
    let (to, columns) = (SharedSlice::new(to), SharedSlice::new(columns));
    for_each(pieces + width, |k| match k.checked_sub(pieces) {
        None => {
            let first = k * ROWS * stride;
            // SAFETY: pieces are disjoint.
            let to = unsafe { to.range(first, (ROWS * stride).min(length - first)) };
            pad_rows(chunk(from, ROWS * out, k), out, to, stride);
        }
        Some(word) => {
            let each = 64 * column_words;
            // SAFETY: the columns of each word are separate.
            let columns = unsafe { columns.range(word * each, each) };
            transpose_bits(bits, width, word, columns, column_words);
        }
    });
}

/// Copies rows to the wider rows of the scratch; the padding is not written.
fn pad_rows(from: &[f32], width: usize, to: &mut [f32], stride: usize) {
    for (to, from) in to.chunks_exact_mut(stride).zip(from.chunks_exact(width)) {
        to[..width].copy_from_slice(from);
    }
}

/// Transposes the features of a word of each row into one row of `column_words` words per feature, bit r for row r.
fn transpose_bits(
    bits: &[u64],
    width: usize,
    word: usize,
    columns: &mut [u64],
    column_words: usize,
) {
    for (group, rows) in bits.chunks(64 * width).enumerate() {
        let mut block = [0; 64];
        for (line, row) in block.iter_mut().zip(rows.chunks_exact(width)) {
            *line = row[word];
        }
        transpose_64(&mut block);
        for (column, line) in columns.chunks_exact_mut(column_words).zip(block) {
            column[group] = line;
        }
    }
}

/// The sum over one tile of rows for some features.
struct FeatureBlock<'a> {
    out_features: usize,
    columns: &'a [u64],
    column_words: usize,
    grads: &'a [f32],
    dwt: &'a mut [f32],
    /// Whether this is the first tile, which overwrites.
    fresh: bool,
}

impl WithSimd for FeatureBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut indices: Indices = [0; INDICES];
        for chunk in chunks::<S, f32>(self.out_features) {
            let block = &mut self;
            with_vectors!(chunk.vectors, block.add(simd, &chunk, &mut indices));
        }
    }
}

impl FeatureBlock<'_> {
    #[inline(always)]
    fn add<S: Simd, const N: usize>(&mut self, simd: S, chunk: &Chunk, indices: &mut Indices) {
        let grads =
            TableColumns::<S, f32>::new(self.grads, row_stride(self.out_features), chunk.first);
        let features = self.dwt.chunks_exact_mut(self.out_features);
        for (dwt, column) in features.zip(self.columns.chunks_exact(self.column_words)) {
            let dwt = &mut dwt[chunk.elements.clone()];
            let count = decode(column.iter().copied(), 0, indices);
            let before = match self.fresh {
                true => [simd.splat_f32s(0.0); N],
                false => load(simd, dwt),
            };
            store(simd, dwt, grads.add(simd, &indices[..count], before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spikes::tests::{Random, bits_of};

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for out_features in [10, 196, 300] {
            let stride = row_stride(out_features);
            let mut random = Random(21);
            let grads = random.take(128 * stride);
            let columns: Vec<u64> = (1..=10u64)
                .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
                .collect();
            let before = random.take(5 * out_features);
            let run = |with: &dyn Fn(FeatureBlock)| {
                let mut dwt = before.clone();
                with(FeatureBlock {
                    out_features,
                    columns: &columns,
                    column_words: 2,
                    grads: &grads,
                    dwt: &mut dwt,
                    fresh: false,
                });
                bits_of(&dwt)
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
