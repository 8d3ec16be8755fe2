//! Depthwise convolutions: elementwise along the channels.

use super::super::Float;
use super::window::Windows;
use super::{ConvProduct, ConvScratch, Pieces, rounded};
use crate::gemm;
use crate::parallel;
use spikelet_expr::vectorized;

/// Rows of one task, and the fewest of one chunk of sums.
const ROWS: usize = 128;

/// The product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    /// Windows times kernel; the kernel may be flipped.
    Forward { flipped: bool },
    /// Gradients times kernel, added to the windows.
    Input,
    /// Windows times gradients.
    Weight,
}

pub(super) struct Channelwise {
    windows: Windows,
    product: Product,
    /// Rows of one chunk of sums, and the number of chunks.
    rows: usize,
    chunks: usize,
}

impl Channelwise {
    /// The product, if every channel is a group with one output.
    pub(super) fn new(windows: Windows, outputs: usize, product: Product) -> Option<Self> {
        let depthwise = windows.groups > 1 && windows.per_group() == 1 && outputs == windows.groups;
        let most = if gemm::is_ordered() { 1 } else { 32 };
        let rows = windows.rows().div_ceil(most).max(ROWS);
        depthwise.then(|| Self {
            chunks: windows.rows().div_ceil(rows),
            rows,
            windows,
            product,
        })
    }

    fn kernel_elements(&self) -> usize {
        self.windows.taps() * self.windows.channels
    }

    /// The kernel `[channels, taps]` as `[taps, channels]`.
    fn arrange<R: Float>(&self, kernel: &[R], to: &mut [R]) {
        let (taps, channels) = (self.windows.taps(), self.windows.channels);
        let flipped = self.product == Product::Forward { flipped: true };
        for (tap, to) in to.chunks_exact_mut(channels).enumerate() {
            let tap = if flipped { taps - 1 - tap } else { tap };
            for (to, x) in to.iter_mut().zip(kernel[tap..].iter().step_by(taps)) {
                *to = *x;
            }
        }
    }

    /// Calls `each` with every row, its taps inside the image, and the index of their first channel.
    #[inline(always)]
    fn meet(&self, rows: std::ops::Range<usize>, mut each: impl FnMut(usize, usize, usize)) {
        for row in rows {
            self.windows.stretches(
                row,
                0,
                #[inline(always)]
                |tap, _, from| {
                    if let Some(from) = from {
                        each(row, tap, from);
                    }
                },
            );
        }
    }

    /// `to[i] ← to[i] + a[i] · b[i]` for all channels, at the three offsets that `places` returns for
    /// every row and tap.
    fn add_products<R: Float>(
        &self,
        rows: std::ops::Range<usize>,
        (to, a, b): (&mut [R], &[R], &[R]),
        places: impl Fn(usize, usize, usize) -> [usize; 3],
    ) {
        let channels = self.windows.channels;
        vectorized(
            (to, a, b),
            #[inline(always)]
            |(to, a, b)| {
                self.meet(
                    rows.clone(),
                    #[inline(always)]
                    |row, tap, from| {
                        let [at, left, right] = places(row, tap, from);
                        let (a, b) = (&a[left..left + channels], &b[right..right + channels]);
                        for ((to, a), b) in to[at..at + channels].iter_mut().zip(a).zip(b) {
                            *to = *to + *a * *b;
                        }
                    },
                );
            },
        );
    }

    fn weight<R: Float>(&self, [image, g]: [&[R]; 2], out: &mut [R], sums: &mut [R]) {
        let (all, channels) = (self.windows.rows(), self.windows.channels);
        let (elements, taps) = (self.kernel_elements(), self.windows.taps());
        let sums = &mut sums[..self.chunks * elements];
        parallel::for_each_chunk(sums, elements, |k, sums| {
            sums.fill(R::ZERO);
            let rows = k * self.rows..((k + 1) * self.rows).min(all);
            self.add_products(rows, (sums, image, g), |row, tap, from| {
                [tap * channels, from, row * channels]
            });
        });
        for (i, out) in out.iter_mut().enumerate() {
            let at = i % taps * channels + i / taps;
            let parts = sums.chunks_exact(elements).map(|sums| sums[at]);
            *out = parts.fold(R::ZERO, |sum, x| sum + x);
        }
    }
}

impl ConvProduct for Channelwise {
    fn scratch(&self) -> ConvScratch {
        let kernels = match self.product {
            Product::Weight => self.chunks,
            _ => 1,
        };
        ConvScratch {
            shared: rounded(kernels.saturating_mul(self.kernel_elements())),
            each: 0,
        }
    }

    fn run<R: Float>(
        &self,
        [first, second]: [&[R]; 2],
        out: &mut [R],
        shared: &mut [R],
        _: &Pieces<'_, R>,
    ) {
        let (w, channels) = (&self.windows, self.windows.channels);
        if self.kernel_elements() == 0 {
            out.fill(R::ZERO);
            return;
        }
        if self.product == Product::Weight {
            self.weight([first, second], out, shared);
            return;
        }
        let kernel = &mut shared[..self.kernel_elements()];
        self.arrange(second, kernel);
        let kernel = &*kernel;
        if self.product == Product::Input {
            let each = w.positions() * channels;
            parallel::for_each_chunk(out, w.image_elements(), |k, image| {
                let g = &first[k * each..(k + 1) * each];
                image.fill(R::ZERO);
                let rows = 0..w.positions();
                self.add_products(rows, (image, g, kernel), |row, tap, from| {
                    [from, row * channels, tap * channels]
                });
            });
            return;
        }
        parallel::for_each_chunk(out, ROWS * channels, |k, out| {
            out.fill(R::ZERO);
            let start = k * ROWS;
            let rows = start..start + out.len() / channels;
            self.add_products(rows, (out, first, kernel), |row, tap, from| {
                [(row - start) * channels, from, tap * channels]
            });
        });
    }
}
