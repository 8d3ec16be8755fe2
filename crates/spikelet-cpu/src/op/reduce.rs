//! Sums and maxima, each in a fixed order.

use super::{CHUNK, CpuKernel, Float, Kernel, Lowered, PrepareContext, RunResult};
use crate::broadcast::Broadcast;
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use spikelet_expr::vectorized;
use spikelet_graph::dense_strides;
use spikelet_graph::op::{Reduce, Reduction};

/// Parallel partial sums, so that the loop vectorizes.
const LANES: usize = 64;

/// Columns of one task.
const WIDTH: usize = 2048;

/// Columns that are reduced in SIMD lanes.
const COLUMNS: usize = 32;

/// Rows that are joined before they are joined to those before them: rounding errors of a long sum stay small, also where
/// all its terms are equal.
const ROWS: usize = 16;

enum Shape {
    /// `[outer, reduced, inner]`, the reduced axes next to each other.
    Block {
        outer: usize,
        reduced: usize,
        inner: usize,
    },
    /// Reduced and kept axes alternate: the operand's elements for each result, gathered.
    Scattered { gather: Broadcast, reduced: usize },
}

pub(super) struct ReduceKernel<R> {
    reduction: Reduction,
    shape: Shape,
    element: std::marker::PhantomData<R>,
}

fn shape(op: &Reduce, axes: &[usize]) -> Shape {
    let contiguous = op.axes.windows(2).all(|w| w[1] == w[0] + 1);
    if contiguous {
        let (first, last) = match (op.axes.first(), op.axes.last()) {
            (Some(&a), Some(&b)) => (a, b + 1),
            _ => (axes.len(), axes.len()),
        };
        return Shape::Block {
            outer: axes[..first].iter().product(),
            reduced: axes[first..last].iter().product(),
            inner: axes[last..].iter().product(),
        };
    }
    let strides = dense_strides(axes);
    let kept = (0..axes.len()).filter(|k| !op.axes.contains(k));
    let order: Vec<usize> = kept.chain(op.axes.iter().copied()).collect();
    let target: Vec<usize> = order.iter().map(|&k| axes[k]).collect();
    let strides: Vec<usize> = order.iter().map(|&k| strides[k]).collect();
    Shape::Scattered {
        gather: Broadcast::strided(&target, &strides),
        reduced: op.axes.iter().map(|&k| axes[k]).product(),
    }
}

/// One partial result for each chunk of a long row.
fn chunks(reduced: usize) -> usize {
    reduced.div_ceil(CHUNK)
}

impl Shape {
    /// Elements of the partial results.
    fn partial(&self) -> usize {
        match *self {
            Self::Block {
                outer,
                reduced,
                inner: 1,
            } => outer.saturating_mul(chunks(reduced)),
            Self::Block {
                outer,
                reduced,
                inner,
            } => outer
                .saturating_mul(row_chunks(reduced, inner))
                .saturating_mul(inner),
            Self::Scattered { .. } => 0,
        }
    }
}

impl CpuKernel for Reduce {
    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let shape = shape(self, &cx.types.inputs[0].shape);
        Lowered::new(shape.partial(), move || {
            Ok(Box::new(ReduceKernel::<R> {
                reduction: self.reduction,
                shape,
                element: std::marker::PhantomData,
            }))
        })
    }
}

/// Rows of one chunk where there are few columns.
fn chunk_rows(inner: usize) -> usize {
    (CHUNK / inner.max(1)).max(LANES)
}

/// One partial row for each chunk of many rows; 0 where whole columns are reduced at once.
fn row_chunks(reduced: usize, inner: usize) -> usize {
    match reduced.div_ceil(chunk_rows(inner)) {
        0 | 1 => 0,
        _ if inner > WIDTH => 0,
        chunks => chunks,
    }
}

impl<R: Float> ReduceKernel<R> {
    fn start(&self) -> R {
        match self.reduction {
            Reduction::Sum => R::ZERO,
            Reduction::Max => R::from_f64(f64::NEG_INFINITY),
        }
    }

    fn join(&self, a: R, b: R) -> R {
        match self.reduction {
            Reduction::Sum => a + b,
            Reduction::Max => a.max_nan(b),
        }
    }

    /// Reduces a row, in lanes.
    fn row(&self, row: &[R]) -> R {
        let mut lanes = [self.start(); LANES];
        let sum = self.reduction == Reduction::Sum;
        vectorized(
            (&mut lanes, row, sum),
            #[inline(always)]
            |(lanes, row, sum)| {
                let mut parts = row.chunks_exact(LANES);
                for part in &mut parts {
                    for k in 0..LANES {
                        lanes[k] = if sum {
                            lanes[k] + part[k]
                        } else {
                            lanes[k].max_nan(part[k])
                        };
                    }
                }
                for (lane, x) in lanes.iter_mut().zip(parts.remainder()) {
                    *lane = if sum { *lane + *x } else { lane.max_nan(*x) };
                }
            },
        );
        let mut width = LANES / 2;
        while width > 0 {
            for k in 0..width {
                lanes[k] = self.join(lanes[k], lanes[k + width]);
            }
            width /= 2;
        }
        lanes[0]
    }

    fn rows(&self, x: &[R], outer: usize, reduced: usize, y: &mut [R], partial: &mut [R]) {
        if reduced <= CHUNK {
            let per_task = (CHUNK / reduced.max(1)).max(1);
            parallel::for_each_chunk(y, per_task, |task, y| {
                for (k, y) in y.iter_mut().enumerate() {
                    let o = task * per_task + k;
                    *y = self.row(&x[o * reduced..(o + 1) * reduced]);
                }
            });
            return;
        }
        let count = chunks(reduced);
        parallel::for_each_chunk(&mut partial[..outer * count], 1, |k, partial| {
            let (o, c) = (k / count, k % count);
            let row = &x[o * reduced..(o + 1) * reduced];
            partial.fill(self.row(&row[c * CHUNK..((c + 1) * CHUNK).min(reduced)]));
        });
        for (o, y) in y.iter_mut().enumerate() {
            let parts = &partial[o * count..(o + 1) * count];
            *y = parts.iter().fold(self.start(), |a, &b| self.join(a, b));
        }
    }

    /// Joins rows to one: blocks of [`ROWS`] in ascending order, each joined in ascending order.
    fn join_rows(&self, x: &[R], y: &mut [R], inner: usize) {
        let sum = self.reduction == Reduction::Sum;
        vectorized(
            (x, y, self.start()),
            #[inline(always)]
            |(x, y, start)| {
                let mut columns = y.chunks_exact_mut(COLUMNS);
                let mut first = 0;
                for y in &mut columns {
                    // As many columns as fit in registers.
                    y.fill(start);
                    for block in x.chunks(ROWS * inner) {
                        let mut lanes = [start; COLUMNS];
                        for row in block.chunks_exact(inner) {
                            let row = &row[first..first + COLUMNS];
                            for k in 0..COLUMNS {
                                lanes[k] = if sum {
                                    lanes[k] + row[k]
                                } else {
                                    lanes[k].max_nan(row[k])
                                };
                            }
                        }
                        for (y, &x) in y.iter_mut().zip(&lanes) {
                            *y = if sum { *y + x } else { y.max_nan(x) };
                        }
                    }
                    first += COLUMNS;
                }
                let y = columns.into_remainder();
                y.fill(start);
                for block in x.chunks(ROWS * inner) {
                    let mut lanes = [start; COLUMNS];
                    for row in block.chunks_exact(inner) {
                        for (lane, &x) in lanes.iter_mut().zip(&row[first..]) {
                            *lane = if sum { *lane + x } else { lane.max_nan(x) };
                        }
                    }
                    for (y, &x) in y.iter_mut().zip(&lanes) {
                        *y = if sum { *y + x } else { y.max_nan(x) };
                    }
                }
            },
        );
    }

    /// Reduces many rows of few columns in fixed chunks, whose rows are joined in order.
    fn long_columns(
        &self,
        x: &[R],
        (reduced, inner, chunks): (usize, usize, usize),
        y: &mut [R],
        partial: &mut [R],
    ) {
        let rows = chunk_rows(inner);
        let outer = y.len() / inner;
        let partial = &mut partial[..outer * chunks * inner];
        parallel::for_each_chunk(partial, inner, |k, partial| {
            let (o, first) = (k / chunks, k % chunks * rows);
            let x = &x[o * reduced * inner..(o + 1) * reduced * inner];
            let end = (first + rows).min(reduced);
            self.join_rows(&x[first * inner..end * inner], partial, inner);
        });
        let parts = partial.chunks_exact(chunks * inner);
        for (y, parts) in y.chunks_exact_mut(inner).zip(parts) {
            self.join_rows(parts, y, inner);
        }
    }

    /// Reduces over rows: `y[o, i] = Σ_r x[o, r, i]`, r ascending in blocks of [`ROWS`].
    fn columns(&self, x: &[R], (outer, reduced, inner): (usize, usize, usize), y: &mut [R]) {
        let pieces = inner.div_ceil(WIDTH);
        let shared = SharedSlice::new(y);
        parallel::for_each(outer * pieces, |k| {
            let (o, i) = (k / pieces, k % pieces * WIDTH);
            let length = WIDTH.min(inner - i);
            // SAFETY: every (o, piece) has its own range.
            let y = unsafe { shared.range(o * inner + i, length) };
            y.fill(self.start());
            let sum = self.reduction == Reduction::Sum;
            if reduced == 0 {
                return;
            }
            let from = &x[o * reduced * inner + i..];
            vectorized(
                (y, from, sum, (reduced, inner), self.start()),
                #[inline(always)]
                |(y, from, sum, (reduced, inner), start)| {
                    let mut block = [start; WIDTH];
                    let block = &mut block[..y.len()];
                    for first in (0..reduced).step_by(ROWS) {
                        block.fill(start);
                        for r in first..(first + ROWS).min(reduced) {
                            let x = &from[r * inner..r * inner + y.len()];
                            for (lane, &x) in block.iter_mut().zip(x) {
                                *lane = if sum { *lane + x } else { lane.max_nan(x) };
                            }
                        }
                        for (y, &x) in y.iter_mut().zip(block.iter()) {
                            *y = if sum { *y + x } else { y.max_nan(x) };
                        }
                    }
                },
            );
        });
    }
}

impl<R: Float> Kernel for ReduceKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let x = R::of(&reads[0]);
        let y = R::of_mut(&mut writes[0]);
        match &self.shape {
            &Shape::Block {
                outer,
                reduced,
                inner: 1,
            } => {
                self.rows(x, outer, reduced, y, R::from_words(workspace));
            }
            &Shape::Block {
                outer,
                reduced,
                inner,
            } => match row_chunks(reduced, inner) {
                0 => self.columns(x, (outer, reduced, inner), y),
                chunks => {
                    let partial = R::from_words(workspace);
                    self.long_columns(x, (reduced, inner, chunks), y, partial);
                }
            },
            Shape::Scattered { gather, reduced } => {
                parallel::for_each_chunk(y, 1, |o, y| {
                    let mut total = self.start();
                    let mut block = [R::ZERO; LANES];
                    let mut done = 0;
                    while done < *reduced {
                        let length = LANES.min(reduced - done);
                        gather.gather(x, o * reduced + done, &mut block[..length]);
                        total = block[..length].iter().fold(total, |a, &b| self.join(a, b));
                        done += length;
                    }
                    y.fill(total);
                });
            }
        }
        Ok(())
    }
}
