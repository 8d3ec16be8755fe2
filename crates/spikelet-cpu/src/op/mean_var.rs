//! Mean and variance of each channel.
//!
//! Chunks of rows of fixed size are summed separately, first the elements, then the squares of their
//! distances from the chunk's mean; the chunks are then merged in order (Chan's formula).

use super::{CpuKernel, Float, Kernel, Lowered, PrepareContext, RunResult};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel::{self, chunk};
use spikelet_expr::vectorized;
use spikelet_graph::op::MeanVar;
use std::marker::PhantomData;

/// Approximate elements of a chunk: they are read twice, the second time from the L1 or L2 cache.
const CHUNK: usize = 8 * 1024;

/// The fewest rows of a chunk, so that merging does not dominate.
const MIN_ROWS: usize = 16;

struct MeanVarKernel<R> {
    rows: usize,
    channels: usize,
    /// Rows of a chunk.
    chunk: usize,
    /// The mean and the sum of squares of every chunk, in f64 for any element type.
    partial: usize,
    element: PhantomData<R>,
}

impl CpuKernel for MeanVar {
    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let (rows, channels) = cx.types.inputs[0].rows_and_columns();
        let chunk = (CHUNK / channels.max(1)).max(MIN_ROWS);
        let partial = channels
            .saturating_mul(rows.div_ceil(chunk))
            .saturating_mul(2);
        Lowered::new(partial, move || {
            Ok(Box::new(MeanVarKernel::<R> {
                rows,
                channels,
                chunk,
                partial,
                element: PhantomData,
            }))
        })
    }
}

/// The number of channels whose sums are in registers.
const LANES: usize = 16;

/// Means and sums of squared distances from them, over the rows of a chunk.
#[inline(always)]
fn chunk_moments<R: Float>(x: &[R], channels: usize, means: &mut [f64], squares: &mut [f64]) {
    for first in (0..channels).step_by(LANES) {
        let width = LANES.min(channels - first);
        // Full lanes have a separate loop of constant length.
        let (mean, rest, sums) = if width == LANES {
            lanes(x, channels, |row: &[R]| -> [R; LANES] {
                std::array::from_fn(|k| row[first..first + LANES][k])
            })
        } else {
            lanes(x, channels, |row: &[R]| -> [R; LANES] {
                let row = &row[first..];
                std::array::from_fn(|k| row.get(k).copied().unwrap_or(R::ZERO))
            })
        };
        let count = (x.len() / channels) as f64;
        for k in 0..width {
            let rest = rest[k].to_f64();
            means[first + k] = mean[k].to_f64() + rest / count;
            squares[first + k] = sums[k].to_f64() - rest * rest / count;
        }
    }
}

/// Rounded means of some channels, and sums of distances and squared distances from these.
#[inline(always)]
fn lanes<R: Float>(
    x: &[R],
    channels: usize,
    take: impl Fn(&[R]) -> [R; LANES],
) -> ([R; LANES], [R; LANES], [R; LANES]) {
    let count = R::from_f64((x.len() / channels) as f64);
    let (mut mean, mut rest, mut sums) = ([R::ZERO; LANES], [R::ZERO; LANES], [R::ZERO; LANES]);
    for row in x.chunks_exact(channels) {
        let row = take(row);
        for k in 0..LANES {
            mean[k] = mean[k] + row[k];
        }
    }
    for mean in &mut mean {
        *mean = *mean / count;
    }
    for row in x.chunks_exact(channels) {
        let row = take(row);
        for k in 0..LANES {
            let distance = row[k] - mean[k];
            rest[k] = rest[k] + distance;
            sums[k] = sums[k] + distance * distance;
        }
    }
    (mean, rest, sums)
}

impl<R: Float> Kernel for MeanVarKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let x = R::of(&reads[0]);
        let (channels, all, rows) = (self.channels, self.rows, self.chunk);
        let partial = &mut f64::from_words(workspace)[..self.partial];
        parallel::for_each_chunk(partial, 2 * channels, |k, partial| {
            let (means, squares) = partial.split_at_mut(channels);
            vectorized(
                (chunk(x, rows * channels, k), channels, means, squares),
                #[inline(always)]
                |(x, channels, means, squares)| chunk_moments(x, channels, means, squares),
            );
        });
        let mut shared: [Option<SharedSlice<'_, R>>; 2] = [const { None }; 2];
        for (shared, write) in shared.iter_mut().zip(writes) {
            if !matches!(write, ViewMut::Unused) {
                *shared = Some(SharedSlice::new(R::of_mut(write)));
            }
        }
        let partial = &*partial;
        parallel::for_each(channels, |c| {
            let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
            for (k, part) in partial.chunks_exact(2 * channels).enumerate() {
                let more = rows.min(all - k * rows) as f64;
                let distance = part[c] - mean;
                let total = count + more;
                mean += distance * more / total;
                squares += part[channels + c] + distance * distance * count * more / total;
                count = total;
            }
            for (shared, value) in shared.iter().zip([mean, squares / count]) {
                if let Some(shared) = shared {
                    // SAFETY: every channel is written by its own task.
                    let to = unsafe { shared.range(c, 1) };
                    to[0] = R::from_f64(value);
                }
            }
        });
        Ok(())
    }
}
