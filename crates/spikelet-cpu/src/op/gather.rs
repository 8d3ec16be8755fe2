//! Elements selected by indices, and sums of elements by index.

use super::copy::MoveKernel;
use super::{CHUNK, CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{Element, SharedSlice, View, ViewMut};
use crate::parallel::{self, chunk};
use spikelet_graph::op::{Gather, GatherSizes, Indexed, ScatterAdd};
use std::marker::PhantomData;

/// An index limited to the axis.
fn limited(index: i64, length: usize) -> usize {
    let index = usize::try_from(index.max(0)).unwrap_or(usize::MAX);
    index.min(length - 1)
}

struct GatherKernel {
    sizes: GatherSizes,
    indexed: Indexed,
}

impl CpuKernel for Gather {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(GatherKernel {
            sizes: self.sizes(&cx.types.inputs[0], &cx.types.inputs[1]),
            indexed: self.indexed,
        }))
    }
}

impl MoveKernel for GatherKernel {
    fn run_typed<R: Element>(&self, reads: &[View<'_>], to: &mut [R]) {
        let GatherSizes {
            length,
            count,
            inner,
            ..
        } = self.sizes;
        if to.is_empty() {
            return;
        }
        let (from, index) = (R::of(&reads[0]), i64::of(&reads[1]));
        match self.indexed {
            Indexed::Slices => {
                let rows = CHUNK.div_ceil(inner);
                parallel::for_each_chunk(to, rows * inner, |k, to| {
                    for (row, to) in to.chunks_mut(inner).enumerate() {
                        let row = k * rows + row;
                        let at = row / count * length + limited(index[row % count], length);
                        to.copy_from_slice(&from[at * inner..(at + 1) * inner]);
                    }
                });
            }
            Indexed::Elements => {
                parallel::for_each_chunk(to, CHUNK, |k, to| {
                    let index = chunk(index, CHUNK, k);
                    for (i, (to, index)) in to.iter_mut().zip(index).enumerate() {
                        let i = k * CHUNK + i;
                        let row = i / (count * inner) * length + limited(*index, length);
                        *to = from[row * inner + i % inner];
                    }
                });
            }
        }
    }
}

/// Every element of the result is summed by one task, in ascending order of the index's elements: the
/// bits do not depend on the number of threads.
struct ScatterAddKernel<R> {
    sizes: GatherSizes,
    indexed: Indexed,
    threads: usize,
    element: PhantomData<R>,
}

impl CpuKernel for ScatterAdd {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(ScatterAddKernel::<R> {
            sizes: self.sizes(&cx.types.inputs[0], &cx.types.inputs[1]),
            indexed: self.indexed,
            threads: cx.threads,
            element: PhantomData,
        }))
    }
}

impl<R: Float> ScatterAddKernel<R> {
    /// Sums slices: each task owns a range of the result's rows and reads the complete index.
    fn slices(&self, from: &[R], index: &[i64], to: &mut [R]) {
        let GatherSizes {
            outer,
            length,
            count,
            inner,
        } = self.sizes;
        let parts = (4 * self.threads).div_ceil(outer).min(length);
        let rows = length.div_ceil(parts);
        let parts = length.div_ceil(rows);
        let shared = SharedSlice::new(to);
        parallel::for_each(outer * parts, |task| {
            let (o, first) = (task / parts, task % parts * rows);
            let end = (first + rows).min(length);
            // SAFETY: each task has its own rows.
            let to = unsafe { shared.range((o * length + first) * inner, (end - first) * inner) };
            to.fill(R::ZERO);
            let from = from[o * count * inner..].chunks_exact(inner);
            for (&index, from) in index.iter().zip(from) {
                let row = limited(index, length);
                if (first..end).contains(&row) {
                    let at = (row - first) * inner;
                    for (sum, &x) in to[at..at + inner].iter_mut().zip(from) {
                        *sum = *sum + x;
                    }
                }
            }
        });
    }

    /// Sums elements: each task owns one of the outer parts of the result.
    fn elements(&self, from: &[R], index: &[i64], to: &mut [R]) {
        let GatherSizes {
            length,
            count,
            inner,
            ..
        } = self.sizes;
        let each = (count * inner).max(1);
        to.fill(R::ZERO);
        parallel::for_each_chunk(to, length * inner, |k, to| {
            let elements = chunk(from, each, k).iter().zip(chunk(index, each, k));
            for (i, (&x, &index)) in elements.enumerate() {
                let sum = &mut to[limited(index, length) * inner + i % inner];
                *sum = *sum + x;
            }
        });
    }
}

impl<R: Float> Kernel for ScatterAddKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let to = R::of_mut(&mut writes[0]);
        if to.is_empty() {
            return Ok(());
        }
        let (from, index) = (R::of(&reads[0]), i64::of(&reads[1]));
        match self.indexed {
            Indexed::Slices => self.slices(from, index, to),
            Indexed::Elements => self.elements(from, index, to),
        }
        Ok(())
    }
}
