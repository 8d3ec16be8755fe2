//! The forward pass of a linear layer on spikes.

use super::bits::{last_mask, words};
use super::error::{SpikeError, check};
use super::rows::{Chunk, Indices, TILE_WORDS, TableColumns, chunks, load, row_stride, store};
use super::{LinearShape, rows::with_vectors};
use crate::parallel::{chunk, for_each_chunk};
use pulp::{Arch, Simd, WithSimd};

/// The most rows of one task. Rows are independent, so the partition does not affect the result.
const ROWS_PER_TASK: usize = 128;

/// y = x·Wᵀ + b for spikes x: each output row is the bias plus the rows of `wt` whose feature
/// spikes.
///
/// | argument | shape |
/// |---|---|
/// | `bits` | `[rows, words(in)]`, bits past the last feature are ignored |
/// | `wt` | `[in, row_stride(out)]`, W transposed and padded, see [`transpose_strided`](super::transpose_strided); the padding is not used |
/// | `bias` | `[out]` |
/// | `out` | `[rows, out]`, overwritten |
///
/// Every element is `((bias + w₁) + w₂) + …` in `f32` over the spiking features in increasing order:
/// bitwise the same on every machine and for any number of threads. Cost: one addition per spike
/// and output feature; nothing is allocated. It is fastest if `wt` starts on a multiple of 64
/// bytes.
///
/// # Errors
/// [`SpikeError::Length`].
pub fn forward(
    shape: LinearShape,
    bits: &[u64],
    wt: &[f32],
    bias: Option<&[f32]>,
    out: &mut [f32],
) -> Result<(), SpikeError> {
    let LinearShape {
        rows,
        in_features,
        out_features,
    } = shape;
    let width = words(in_features);
    check("bits", "[rows, words(in)]", &[rows, width], bits.len())?;
    check(
        "wt",
        "[in, row_stride(out)]",
        &[in_features, row_stride(out_features)],
        wt.len(),
    )?;
    if let Some(bias) = bias {
        check("bias", "[out]", &[out_features], bias.len())?;
    }
    check("out", "[rows, out]", &[rows, out_features], out.len())?;
    if out.is_empty() {
        return Ok(());
    }
    if in_features == 0 {
        match bias {
            Some(bias) => out
                .chunks_exact_mut(out_features)
                .for_each(|out| out.copy_from_slice(bias)),
            None => out.fill(0.0),
        }
        return Ok(());
    }
    // Small batches take fewer rows per task, so that all cores are used.
    let block = rows.div_ceil(64).clamp(8, ROWS_PER_TASK);
    let arch = Arch::new();
    for_each_chunk(out, block * out_features, |k, out| {
        arch.dispatch(RowBlock {
            shape,
            bits: chunk(bits, block * width, k),
            wt,
            bias,
            out,
        });
    });
    Ok(())
}

/// Some rows of the result.
struct RowBlock<'a> {
    shape: LinearShape,
    bits: &'a [u64],
    wt: &'a [f32],
    bias: Option<&'a [f32]>,
    out: &'a mut [f32],
}

impl WithSimd for RowBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut indices = Indices::new();
        for chunk in chunks::<S>(self.shape.out_features) {
            let block = &mut self;
            with_vectors!(chunk.vectors, block.columns(simd, &chunk, &mut indices));
        }
    }
}

impl RowBlock<'_> {
    /// The columns of one chunk. The features are processed a tile at a time, so that the part of
    /// `wt` in use stays in the L2 cache for all rows.
    #[inline(always)]
    fn columns<S: Simd, const N: usize>(&mut self, simd: S, chunk: &Chunk, indices: &mut Indices) {
        let LinearShape {
            in_features,
            out_features,
            ..
        } = self.shape;
        let width = words(in_features);
        let columns = TableColumns::<S>::new(self.wt, row_stride(out_features), chunk.first);
        let start = match self.bias {
            Some(bias) => load::<S, N>(simd, &bias[chunk.floats.clone()]),
            None => [simd.splat_f32s(0.0); N],
        };
        for tile in (0..width).step_by(TILE_WORDS) {
            let end = (tile + TILE_WORDS).min(width);
            let mask = if end == width {
                last_mask(in_features)
            } else {
                u64::MAX
            };
            let rows = self.out.chunks_exact_mut(out_features);
            for (out, bits) in rows.zip(self.bits.chunks_exact(width)) {
                let out = &mut out[chunk.floats.clone()];
                let last = std::iter::once(bits[end - 1] & mask);
                let spikes =
                    indices.decode(bits[tile..end - 1].iter().copied().chain(last), 64 * tile);
                let sum = if tile == 0 {
                    start
                } else {
                    load::<S, N>(simd, out)
                };
                store(simd, out, columns.add(simd, spikes, sum));
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
            let wt = random.take(70 * row_stride(out_features));
            let bias = random.take(out_features);
            let run = |with: &dyn Fn(RowBlock)| {
                let mut out = vec![f32::NAN; 9 * out_features];
                with(RowBlock {
                    shape,
                    bits: &bits,
                    wt: &wt,
                    bias: Some(&bias),
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
