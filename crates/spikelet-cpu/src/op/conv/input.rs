//! The gradient of the operand of a convolution that leaves positions out: what every window
//! gives back is added where it was read.

use super::super::Float;
use super::window::Windows;
use super::{Layout, Part, Pieces, columns, tile_rows};
use crate::gemm::GemmError;
use rayon::prelude::*;

pub(super) struct Input {
    windows: Windows,
    /// Channels of the result whose gradient is given.
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
    fn run_image<R: Float>(
        &self,
        [g, kernel]: [&[R]; 2],
        image: &mut [R],
        cells: &mut [R],
    ) -> Result<(), GemmError> {
        let w = &self.windows;
        let (positions, window, n) = (w.positions(), w.window(), self.outputs / w.groups);
        image.fill(R::ZERO);
        for start in (0..positions).step_by(self.tile) {
            let m = self.tile.min(positions - start);
            for group in 0..w.groups {
                let g = (&g[start * self.outputs + group * n..], (self.outputs, 1));
                let kernel = (&kernel[group * n * window..], (window, 1));
                R::product_here((m, window, n), g, kernel, false, cells, window)?;
                columns::scatter(w, &cells[..m * window], group, start..start + m, image);
            }
        }
        Ok(())
    }
}

impl Part for Input {
    fn layout(&self) -> Layout {
        Layout {
            shared: 0,
            each: self.tile * self.windows.window(),
        }
    }

    fn run<R: Float>(
        &self,
        [g, kernel]: [&[R]; 2],
        out: &mut [R],
        _: &mut [R],
        own: &Pieces<'_, R>,
    ) -> Result<(), GemmError> {
        if self.windows.window() == 0 {
            out.fill(R::ZERO);
            return Ok(());
        }
        let images = out.par_chunks_mut(self.windows.image_elements().max(1));
        images
            .zip(g.par_chunks(self.windows.positions() * self.outputs))
            .with_max_len(1)
            .try_for_each(|(image, g)| own.with(|own| self.run_image([g, kernel], image, own)))
    }
}
