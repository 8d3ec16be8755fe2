//! The gradient of the kernel: windows times gradients, summed over chunks of windows of fixed size,
//! whose sums are added in order.

use super::super::{CHUNK, Float};
use super::window::Windows;
use super::{ConvProduct, ConvScratch, FEW, Pieces, columns, rounded, tile_rows};
use crate::gemm::{Factor, Gemm, Rounding, is_ordered};
use crate::memory::SharedSlice;
use crate::parallel;

/// The most elements of all chunks' sums, unless four chunks have more.
const SUMS: usize = 2 << 20;

/// Output channels of a task.
const PIECE: usize = 64;

pub(super) struct Weight {
    windows: Windows,
    outputs: usize,
    tile: usize,
    /// Tiles of one chunk, and the number of chunks.
    per_chunk: usize,
    chunks: usize,
    /// Output channels of a group that one task sums.
    piece: usize,
}

impl Weight {
    pub(super) fn new(windows: Windows, outputs: usize) -> Self {
        let window = windows.window();
        let tile = tile_rows(window);
        let tiles = windows.rows().div_ceil(tile);
        let most = match is_ordered() {
            true => 1,
            false => (SUMS / (outputs * window).max(1)).clamp(4, 32),
        };
        let per_chunk = tiles.div_ceil(most).max(1);
        let n = outputs / windows.groups;
        Self {
            windows,
            outputs,
            tile,
            per_chunk,
            chunks: tiles.div_ceil(per_chunk),
            // Few chunks would leave threads idle, so their channels are split among tasks.
            piece: if most < 32 && window > FEW {
                n.clamp(1, PIECE)
            } else {
                n.max(1)
            },
        }
    }

    fn elements(&self) -> usize {
        self.outputs * self.windows.window()
    }

    /// One chunk's sums for the output channels `from..from + count` of a group; for short
    /// windows as `[window, outputs of the group]`, otherwise as `[outputs, window]`.
    fn run_chunk<R: Float>(
        &self,
        chunk: usize,
        (group, from, count): (usize, usize, usize),
        [image, g]: [&[R]; 2],
        sums: &mut [R],
        cells: &mut [R],
    ) {
        let w = &self.windows;
        let window = w.window();
        let first = group * (self.outputs / w.groups) + from;
        let end = ((chunk + 1) * self.per_chunk * self.tile).min(w.rows());
        let begin = chunk * self.per_chunk * self.tile;
        for start in (begin..end).step_by(self.tile) {
            let m = self.tile.min(end - start);
            let (add, rows) = (start > begin, start..start + m);
            let g = &g[start * self.outputs + first..];
            let few = window <= FEW;
            let cells = if few {
                columns::gather_columns(w, image, group, rows, cells, self.tile);
                (&*cells, (self.tile, 1))
            } else if w.pointwise() {
                let first = start * w.channels + group * w.per_group();
                (&image[first..], (w.channels, 1))
            } else {
                columns::gather(w, image, group, rows, &mut cells[..m * window]);
                (&*cells, (window, 1))
            };
            let (sizes, a, b) = match few {
                true => ((window, count), cells, (g, (self.outputs, 1))),
                false => ((count, window), (g, (1, self.outputs)), cells),
            };
            let product = Gemm {
                m: sizes.0,
                n: sizes.1,
                k: m,
                a,
                b: Factor::Matrix(b),
                accumulate: add,
                rounding: Rounding::of(few),
            };
            product.run_here(sums, sizes.1);
        }
    }

    /// Adds the chunks' sums in order.
    fn join<R: Float>(&self, sums: &[R], out: &mut [R]) {
        let (window, n) = (self.windows.window(), self.outputs / self.windows.groups);
        let all = self.elements();
        parallel::for_each_chunk(out, CHUNK, |k, out| {
            out.fill(R::ZERO);
            let start = k * CHUNK;
            for sums in sums[..self.chunks * all].chunks_exact(all.max(1)) {
                if window > FEW {
                    for (out, x) in out.iter_mut().zip(&sums[start..]) {
                        *out = *out + *x;
                    }
                    continue;
                }
                for (i, out) in out.iter_mut().enumerate() {
                    let (o, l) = ((start + i) / window, (start + i) % window);
                    let at = (o / n * window + l) * n + o % n;
                    *out = *out + sums[at];
                }
            }
        });
    }
}

impl ConvProduct for Weight {
    fn scratch(&self) -> ConvScratch {
        ConvScratch {
            shared: rounded(self.chunks.saturating_mul(self.elements())),
            each: self.tile.saturating_mul(self.windows.window()),
        }
    }

    fn run<R: Float>(
        &self,
        operands: [&[R]; 2],
        out: &mut [R],
        shared: &mut [R],
        own: &Pieces<'_, R>,
    ) {
        let (window, groups) = (self.windows.window(), self.windows.groups);
        if window == 0 {
            return;
        }
        let n = self.outputs / groups;
        let pieces = n.div_ceil(self.piece);
        let sums = SharedSlice::new(&mut *shared);
        parallel::for_each_task(self.chunks * groups * pieces, |task| {
            let (chunk, rest) = (task / (groups * pieces), task % (groups * pieces));
            let (group, from) = (rest / pieces, rest % pieces * self.piece);
            let count = self.piece.min(n - from);
            let at = (chunk * self.outputs + group * n + from) * window;
            // SAFETY: every task has its own chunk, group and channels.
            let sums = unsafe { sums.range(at, count * window) };
            own.with(|cells| self.run_chunk(chunk, (group, from, count), operands, sums, cells));
        });
        self.join(shared, out);
    }
}
