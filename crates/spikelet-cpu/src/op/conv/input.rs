//! The gradient of the input of a convolution with a stride above 1: the gradient of every window is
//! added at its position.

use super::super::Float;
use super::window::Windows;
use super::{ConvProduct, ConvScratch, Pieces, columns, tile_rows};
use crate::gemm::{Factor, Gemm, Rounding};
use crate::memory::SharedSlice;
use crate::parallel;

pub(super) struct Input {
    windows: Windows,
    /// Channels of the convolution's result.
    outputs: usize,
    tile: usize,
}

impl Input {
    pub(super) fn new(windows: Windows, outputs: usize) -> Self {
        Self {
            tile: tile_rows(windows.window()),
            windows,
            outputs,
        }
    }

    /// One image, from the gradients of its windows.
    fn run_image<R: Float>(&self, [g, kernel]: [&[R]; 2], image: &mut [R], cells: &mut [R]) {
        let w = &self.windows;
        let (positions, window, n) = (w.positions(), w.window(), self.outputs / w.groups);
        image.fill(R::ZERO);
        for start in (0..positions).step_by(self.tile) {
            let m = self.tile.min(positions - start);
            for group in 0..w.groups {
                let product = Gemm {
                    m,
                    n: window,
                    k: n,
                    a: (&g[start * self.outputs + group * n..], (self.outputs, 1)),
                    b: Factor::Matrix((&kernel[group * n * window..], (window, 1))),
                    accumulate: false,
                    rounding: Rounding::of(false),
                };
                product.run_here(cells, window);
                columns::scatter(w, &cells[..m * window], group, start..start + m, image);
            }
        }
    }
}

impl ConvProduct for Input {
    fn scratch(&self) -> ConvScratch {
        ConvScratch {
            shared: 0,
            each: self.tile.saturating_mul(self.windows.window()),
        }
    }

    fn run<R: Float>(
        &self,
        [g, kernel]: [&[R]; 2],
        out: &mut [R],
        _: &mut [R],
        own: &Pieces<'_, R>,
    ) {
        if self.windows.window() == 0 {
            return out.fill(R::ZERO);
        }
        let image = self.windows.image_elements().max(1);
        let each = self.windows.positions() * self.outputs;
        let (images, out) = (out.len() / image, SharedSlice::new(out));
        parallel::for_each_task(images, |k| {
            let g = &g[k * each..(k + 1) * each];
            // SAFETY: every image is one task's.
            let image = unsafe { out.range(k * image, image) };
            own.with(|own| self.run_image([g, kernel], image, own));
        });
    }
}
