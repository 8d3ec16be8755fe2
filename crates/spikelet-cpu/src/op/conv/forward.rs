//! Windows times kernel: the result of a convolution, and the gradient of its input for stride 1.

use super::super::Float;
use super::window::Windows;
use super::{ConvProduct, ConvScratch, FEW, Pieces, ROUND, columns, rounded, tile_rows};
use crate::gemm::{Factor, Gemm, Rounding, pack, pack_rows, packed_elements};
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

    /// Elements of the packed kernel of a group.
    fn packed_elements(&self) -> usize {
        packed_elements(self.windows.window(), self.per_group())
    }

    /// Packs the kernel of each group, a matrix of window × outputs of the group.
    fn pack<R: Float>(&self, kernel: &[R], to: &mut [R]) {
        let (taps, channels) = (self.windows.taps(), self.windows.per_group());
        let (window, n) = (self.windows.window(), self.per_group());
        for group in 0..self.windows.groups {
            let to = &mut to[group * self.packed_elements()..][..self.packed_elements()];
            if self.flipped {
                // `kernel` is [channels of the image, taps, n].
                let row = |l: usize| {
                    let (tap, channel) = (l / channels, group * channels + l % channels);
                    &kernel[(channel * taps + taps - 1 - tap) * n..][..n]
                };
                pack_rows(row, (window, n), to);
            } else {
                // `kernel` is [n, window].
                let kernel = &kernel[group * n * window..];
                pack((kernel, (1, window)), (window, n), to);
            }
        }
    }

    fn run_tile<R: Float>(
        &self,
        start: usize,
        [image, kernel]: [&[R]; 2],
        out: &mut [R],
        cells: &mut [R],
    ) {
        let w = &self.windows;
        let (m, n, window) = (out.len() / self.outputs, self.per_group(), w.window());
        let rows = start..start + m;
        for group in 0..w.groups {
            let a = if window <= FEW {
                columns::gather_columns(w, image, group, rows.clone(), cells, self.tile);
                (&*cells, (1, self.tile))
            } else if w.pointwise() {
                let first = start * w.channels + group * w.per_group();
                (&image[first..], (w.channels, 1))
            } else {
                columns::gather(w, image, group, rows.clone(), &mut cells[..m * window]);
                (&*cells, (window, 1))
            };
            let product = Gemm {
                m,
                n,
                k: window,
                a,
                b: Factor::Packed(&kernel[group * self.packed_elements()..]),
                accumulate: false,
                rounding: Rounding::of(window <= FEW),
            };
            product.run_here(&mut out[group * n..], self.outputs);
        }
    }
}

impl ConvProduct for Forward {
    fn scratch(&self) -> ConvScratch {
        let w = &self.windows;
        ConvScratch {
            shared: rounded(w.groups.saturating_mul(self.packed_elements())),
            each: self.tile.saturating_mul(w.window()),
        }
    }

    fn run<R: Float>(
        &self,
        [image, kernel]: [&[R]; 2],
        out: &mut [R],
        shared: &mut [R],
        own: &Pieces<'_, R>,
    ) {
        self.pack(kernel, shared);
        let (rows, kernel) = (self.windows.rows(), &*shared);
        let out = SharedSlice::new(out);
        parallel::for_each_task(rows.div_ceil(self.tile), |k| {
            let start = k * self.tile;
            let m = self.tile.min(rows - start);
            // SAFETY: every tile has its own rows.
            let out = unsafe { out.range(start * self.outputs, m * self.outputs) };
            own.with(|cells| self.run_tile(start, [image, kernel], out, cells));
        });
    }
}
