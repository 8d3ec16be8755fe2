//! Maxima and means of windows, and their gradients, channels last.

use super::{CHUNK, CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use spikelet_expr::vectorized;
use spikelet_graph::op::{Pool, PoolGrad, Pooling, Window};
use std::marker::PhantomData;

/// Channels whose maxima are found in SIMD lanes, and channels of one task.
const LANES: usize = 64;

/// The part of a window along one axis that lies inside the image.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    count: usize,
    /// Distance between elements.
    step: usize,
    /// The axis' factor of the number of elements of a mean.
    divisor: usize,
}

/// The windows along one axis of `n` elements.
fn spans(window: Window, n: usize, count_padding: bool) -> Vec<Span> {
    let outputs = window.outputs(n);
    let one = |o: usize| match window {
        Window::Adaptive { .. } => {
            let start = o * n / outputs;
            let count = ((o + 1) * n).div_ceil(outputs) - start;
            Span {
                start,
                count,
                step: 1,
                divisor: count,
            }
        }
        Window::Sliding {
            kernel,
            stride,
            padding,
            dilation,
            ..
        } => {
            // Positions count from the start of the padding.
            let begin = o * stride;
            let inside = |k: &usize| (padding..padding + n).contains(&(begin + k * dilation));
            let first = (0..kernel).find(inside).unwrap_or(0);
            let count = (0..kernel).filter(inside).count();
            let padded = (begin + kernel).min(n + 2 * padding) - begin;
            Span {
                start: (begin + first * dilation).saturating_sub(padding),
                count,
                step: dilation,
                divisor: if count_padding { padded } else { count },
            }
        }
    };
    (0..outputs).map(one).collect()
}

/// All windows of an image; missing axes precede the others and have one element.
struct Windows {
    pooling: Pooling,
    channels: usize,
    image: [usize; 3],
    spans: [Vec<Span>; 3],
    /// Whether every element is in exactly one window.
    blocks: bool,
}

impl Windows {
    fn new(pool: &Pool, shape: &[usize]) -> Self {
        let (_, sizes, channels) = pool.split(shape);
        let missing = 3 - sizes.len();
        let count_padding = matches!(
            pool.pooling,
            Pooling::Average {
                count_padding: true
            }
        );
        let along = |k: usize| match k.checked_sub(missing) {
            Some(k) => (pool.windows[k], sizes[k]),
            None => (Window::blocks(1), 1),
        };
        Self {
            pooling: pool.pooling,
            channels,
            image: std::array::from_fn(|k| along(k).1),
            spans: std::array::from_fn(|k| spans(along(k).0, along(k).1, count_padding)),
            blocks: (0..3).all(|k| along(k).0.as_blocks(along(k).1).is_some()),
        }
    }

    /// Windows of an image.
    fn positions(&self) -> usize {
        self.spans.iter().map(Vec::len).product()
    }

    /// Elements of an image.
    fn image_elements(&self) -> usize {
        self.image.iter().product::<usize>() * self.channels
    }

    /// The window at a position of the result.
    fn at(&self, position: usize) -> [Span; 3] {
        let [_, h, w] = [0, 1, 2].map(|k| self.spans[k].len());
        let (rest, x) = (position / w, position % w);
        [
            self.spans[0][rest / h],
            self.spans[1][rest % h],
            self.spans[2][x],
        ]
    }

    /// Calls `each` with the first channel of every element of a window, in row-major order.
    #[inline(always)]
    fn elements(&self, [z, y, x]: [Span; 3], mut each: impl FnMut(usize)) {
        let [_, h, w] = self.image;
        for k in 0..z.count {
            let plane = (z.start + k * z.step) * h;
            for j in 0..y.count {
                let line = (plane + y.start + j * y.step) * w + x.start;
                for i in 0..x.count {
                    each((line + i * x.step) * self.channels);
                }
            }
        }
    }

    /// One element of the result, all channels.
    #[inline(always)]
    fn pool<R: Float>(&self, window: [Span; 3], image: &[R], to: &mut [R]) {
        let channels = to.len();
        match self.pooling {
            Pooling::Max => {
                to.fill(R::from_f64(f64::NEG_INFINITY));
                self.elements(
                    window,
                    #[inline(always)]
                    |at| {
                        for (to, x) in to.iter_mut().zip(&image[at..at + channels]) {
                            *to = x.max_nan(*to);
                        }
                    },
                );
            }
            Pooling::Average { .. } => {
                to.fill(R::ZERO);
                self.elements(
                    window,
                    #[inline(always)]
                    |at| {
                        for (to, x) in to.iter_mut().zip(&image[at..at + channels]) {
                            *to = *to + *x;
                        }
                    },
                );
                let divisor = divisor(window);
                for to in to {
                    *to = *to / divisor;
                }
            }
        }
    }

    /// Adds the gradient of one window to that of the image that starts at `image`, channels
    /// `first..first + count`.
    #[inline(always)]
    fn add_gradient<R: Float>(
        &self,
        window: [Span; 3],
        (image, first, count): (usize, usize, usize),
        x: &[R],
        g: &[R],
        to: &SharedSlice<'_, R>,
    ) {
        let start = image + first;
        let mut gradient = [R::ZERO; LANES];
        gradient[..count].copy_from_slice(g);
        if self.pooling != Pooling::Max {
            let divisor = divisor(window);
            for g in &mut gradient {
                *g = *g / divisor;
            }
            self.elements(
                window,
                #[inline(always)]
                |at| {
                    // SAFETY: a task has channels of an image of its own.
                    let to = unsafe { to.range(start + at, count) };
                    for (to, g) in to.iter_mut().zip(&gradient) {
                        *to = *to + *g;
                    }
                },
            );
            return;
        }
        let mut max = [R::from_f64(f64::NEG_INFINITY); LANES];
        let mut chosen = [0_u32; LANES];
        let mut k = 0;
        self.elements(
            window,
            #[inline(always)]
            |at| {
                let x = &x[start + at..][..count];
                for ((max, chosen), &x) in max.iter_mut().zip(&mut chosen).zip(x) {
                    let nan = is_nan(*max);
                    let larger = (x > *max) | (is_nan(x) & !nan);
                    *max = if larger { x } else { *max };
                    *chosen = if larger { k } else { *chosen };
                }
                k += 1;
            },
        );
        let mut k = 0;
        self.elements(
            window,
            #[inline(always)]
            |at| {
                // SAFETY: as above.
                let to = unsafe { to.range(start + at, count) };
                for ((to, chosen), &g) in to.iter_mut().zip(&chosen).zip(&gradient) {
                    let own = if *chosen == k { g } else { R::ZERO };
                    *to = if self.blocks { own } else { *to + own };
                }
                k += 1;
            },
        );
    }
}

#[inline(always)]
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<R: Float>(x: R) -> bool {
    x != x
}

/// The number of elements of a mean.
fn divisor<R: Float>(window: [Span; 3]) -> R {
    R::from_f64(window.iter().map(|s| s.divisor).product::<usize>() as f64)
}

struct PoolKernel<R> {
    windows: Windows,
    element: PhantomData<R>,
}

impl CpuKernel for Pool {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(PoolKernel::<R> {
            windows: Windows::new(self, &cx.types.inputs[0].shape),
            element: PhantomData,
        }))
    }
}

impl<R: Float> Kernel for PoolKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let w = &self.windows;
        let (channels, positions) = (w.channels.max(1), w.positions());
        let rows = (CHUNK / channels).max(1);
        let x = R::of(&reads[0]);
        let y = R::of_mut(&mut writes[0]);
        parallel::for_each_chunk(y, rows * channels, |k, y| {
            vectorized(
                (w, x, y),
                #[inline(always)]
                |(w, x, y)| {
                    for (row, y) in y.chunks_exact_mut(channels).enumerate() {
                        let (n, at) = ((k * rows + row) / positions, (k * rows + row) % positions);
                        let image = &x[n * w.image_elements()..][..w.image_elements()];
                        w.pool(w.at(at), image, y);
                    }
                },
            );
        });
        Ok(())
    }
}

struct PoolGradKernel<R> {
    windows: Windows,
    element: PhantomData<R>,
}

impl CpuKernel for PoolGrad {
    fn takes_in_place(&self) -> bool {
        true
    }

    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(PoolGradKernel::<R> {
            windows: Windows::new(&self.pool, &cx.types.outputs[0].shape),
            element: PhantomData,
        }))
    }
}

impl<R: Float> Kernel for PoolGradKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let w = &self.windows;
        let g = R::of(&reads[0]);
        // The gradient of a mean does not depend on the operand.
        let x: &[R] = reads.get(1).map_or(&[], R::of);
        let dx = R::of_mut(&mut writes[0]);
        let (channels, elements, positions) = (w.channels, w.image_elements(), w.positions());
        let (images, pieces) = (dx.len() / elements.max(1), channels.div_ceil(LANES));
        if !w.blocks || w.pooling != Pooling::Max {
            parallel::for_each_chunk(dx, CHUNK, |_, dx| dx.fill(R::ZERO));
        }
        let all = SharedSlice::new(dx);
        parallel::for_each(images * pieces, |task| {
            let (n, first) = (task / pieces, task % pieces * LANES);
            let count = LANES.min(channels - first);
            vectorized(
                (w, g, x, &all),
                #[inline(always)]
                |(w, g, x, all)| {
                    for at in 0..positions {
                        let g = &g[(n * positions + at) * channels + first..][..count];
                        let lanes = (n * elements, first, count);
                        w.add_gradient(w.at(at), lanes, x, g, all);
                    }
                },
            );
        });
        Ok(())
    }
}
