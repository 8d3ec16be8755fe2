//! Running products along an axis.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use spikelet_graph::op::CumProd;
use std::marker::PhantomData;

/// Neighboring products of one task.
const COLUMNS: usize = 512;

/// The operand as `[outer, length, inner]`.
struct CumProdKernel<R> {
    outer: usize,
    length: usize,
    inner: usize,
    element: PhantomData<R>,
}

impl CpuKernel for CumProd {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let shape = &cx.types.inputs[0].shape;
        Ok(Box::new(CumProdKernel::<R> {
            outer: shape[..self.axis].iter().product(),
            length: shape[self.axis],
            inner: shape[self.axis + 1..].iter().product(),
            element: PhantomData,
        }))
    }
}

impl<R: Float> Kernel for CumProdKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let (x, y) = (R::of(&reads[0]), R::of_mut(&mut writes[0]));
        if y.is_empty() {
            return Ok(());
        }
        let pieces = self.inner.div_ceil(COLUMNS);
        let y = SharedSlice::new(y);
        parallel::for_each(self.outer * pieces, |task| {
            let (row, first) = (task / pieces * self.length, task % pieces * COLUMNS);
            let count = COLUMNS.min(self.inner - first);
            // SAFETY: every task has columns of its own, and rows of one column are disjoint.
            let at = |k: usize| unsafe { y.range((row + k) * self.inner + first, count) };
            for k in 0..self.length {
                let from = &x[(row + k) * self.inner + first..][..count];
                let to = at(k);
                to.copy_from_slice(from);
                if k > 0 {
                    for (to, before) in to.iter_mut().zip(&*at(k - 1)) {
                        *to = *before * *to;
                    }
                }
            }
        });
        Ok(())
    }
}
