//! One-hot vectors of labels.

use super::{Float, Kernel};
use crate::memory::{Element, View, ViewMut};
use spikelet_graph::op::OneHot;
use std::marker::PhantomData;

pub(super) struct OneHotKernel<R> {
    op: OneHot,
    element: PhantomData<R>,
}

impl<R> OneHotKernel<R> {
    pub(super) fn new(op: &OneHot) -> Self {
        Self {
            op: *op,
            element: PhantomData,
        }
    }
}

impl<R: Float> Kernel for OneHotKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
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
