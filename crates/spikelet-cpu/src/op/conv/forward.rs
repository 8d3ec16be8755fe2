//! Windows times kernel: the result of a convolution, and the gradient of its input for stride 1.

use super::super::Float;
use super::window::Windows;
use super::{ConvProduct, ConvScratch, FEW, Pieces, ROUND, columns, rounded, small, tile_rows};
use crate::gemm::{Gemm, GemmError};
use crate::memory::SharedSlice;
use crate::parallel;

pub(super) struct Forward {
    windows: Windows,
    /// Channels of the result.
    outputs: usize,
    /// Whether the kernel is flipped, and its channels are swapped.
    flipped: bool,
    tile: usize,
}

impl Forward {
    pub(super) fn new(windows: Windows, outputs: usize, flipped: bool) -> Self {
        // Small batches are split among threads, too.
        let part = (windows.rows() / 8).next_multiple_of(ROUND).max(3 * ROUND);
        Self {
            tile: tile_rows(windows.window()).min(part),
            windows,
            outputs,
            flipped,
        }
    }

    /// Channels of the result per group.
    fn per_group(&self) -> usize {
        self.outputs / self.windows.groups
    }

    /// The kernel as one matrix `[window, outputs of the group]` for each group.
    fn arrange<R: Float>(&self, kernel: &[R], to: &mut [R]) {
        let (taps, channels) = (self.windows.taps(), self.windows.per_group());
        let (window, n) = (self.windows.window(), self.per_group());
        if window * n == 0 {
            return;
        }
        parallel::for_each_chunk(to, channels * n, |k, to| {
            let (group, tap) = (k / taps, k % taps);
            if self.flipped {
                // `kernel` is [channels of the image, taps, n].
                for (c, to) in to.chunks_exact_mut(n).enumerate() {
                    let row = (group * channels + c) * taps + taps - 1 - tap;
                    to.copy_from_slice(&kernel[row * n..(row + 1) * n]);
                }
            } else {
                // `kernel` is [n, taps, channels].
                for o in 0..n {
                    let row = (group * n + o) * taps + tap;
                    let from = &kernel[row * channels..(row + 1) * channels];
                    for (to, x) in to[o..].iter_mut().step_by(n).zip(from) {
                        *to = *x;
                    }
                }
            }
        });
    }

    fn run_tile<R: Float>(
        &self,
        start: usize,
        [image, kernel]: [&[R]; 2],
        out: &mut [R],
        scratch: &mut [R],
    ) -> Result<(), GemmError> {
        let w = &self.windows;
        let (m, n, window) = (out.len() / self.outputs, self.per_group(), w.window());
        let (cells, product) = scratch.split_at_mut(self.tile * window);
        for group in 0..w.groups {
            let kernel = &kernel[group * window * n..(group + 1) * window * n];
            let out = &mut out[group * n..];
            if window <= FEW {
                columns::gather_columns(w, image, group, start..start + m, cells, self.tile);
                let operands = small::Operands {
                    a: cells,
                    a_strides: (1, self.tile),
                    b: kernel,
                    b_stride: n,
                };
                small::multiply((m, n, window), &operands, false, out, self.outputs);
                continue;
            }
            let rows = m.next_multiple_of(ROUND);
            let a = if w.pointwise() && rows == m {
                let first = start * w.channels + group * w.per_group();
                (&image[first..], (w.channels, 1))
            } else {
                let (filled, zeros) = cells[..rows * window].split_at_mut(m * window);
                columns::gather(w, image, group, start..start + m, filled);
                zeros.fill(R::ZERO);
                (&*cells, (window, 1))
            };
            let gemm = Gemm {
                m: rows,
                n,
                k: window,
                a,
                b: (kernel, (n, 1)),
                accumulate: false,
            };
            if rows == m {
                gemm.run_here(out, self.outputs)?;
            } else {
                gemm.run_here(product, n)?;
                let out = out.chunks_mut(self.outputs);
                for (to, from) in out.zip(product.chunks_exact(n)).take(m) {
                    to[..n].copy_from_slice(from);
                }
            }
        }
        Ok(())
    }
}

impl ConvProduct for Forward {
    fn scratch(&self) -> ConvScratch {
        let (w, n) = (&self.windows, self.per_group());
        ConvScratch {
            shared: rounded(w.groups.saturating_mul(w.window()).saturating_mul(n)),
            each: self.tile.saturating_mul(w.window().saturating_add(n)),
        }
    }

    fn run<R: Float>(
        &self,
        [image, kernel]: [&[R]; 2],
        out: &mut [R],
        shared: &mut [R],
        own: &Pieces<'_, R>,
    ) -> Result<(), GemmError> {
        let w = &self.windows;
        let shared = &mut shared[..w.groups * w.window() * self.per_group()];
        self.arrange(kernel, shared);
        let (rows, kernel) = (w.rows(), &*shared);
        let out = SharedSlice::new(out);
        parallel::try_for_each_task(rows.div_ceil(self.tile), |k| {
            let start = k * self.tile;
            let m = self.tile.min(rows - start);
            // SAFETY: every tile has its own rows.
            let out = unsafe { out.range(start * self.outputs, m * self.outputs) };
            own.with(|scratch| self.run_tile(start, [image, kernel], out, scratch))
        })
    }
}
