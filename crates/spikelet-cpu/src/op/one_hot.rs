//! One-hot vectors of labels.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{Element, View, ViewMut};
use spikelet_graph::op::OneHot;
use std::marker::PhantomData;

struct OneHotKernel<R> {
    op: OneHot,
    element: PhantomData<R>,
}

impl CpuKernel for OneHot {
    fn prepare<R: Float>(&self, _: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(OneHotKernel::<R> {
            op: *self,
            element: PhantomData,
        }))
    }
}

impl<R: Float> Kernel for OneHotKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let rows = R::of_mut(&mut writes[0]).chunks_mut(self.op.classes.max(1));
        for (&label, row) in i64::of(&reads[0]).iter().zip(rows) {
            row.fill(R::ZERO);
            if self.op.ignored == Some(label) {
                continue;
            }
            if let Some(y) = usize::try_from(label).ok().and_then(|k| row.get_mut(k)) {
                *y = R::ONE;
            }
        }
        Ok(())
    }
}
