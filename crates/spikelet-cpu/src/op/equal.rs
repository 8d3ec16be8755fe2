//! Elementwise equality of labels.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{Element, View, ViewMut};
use spikelet_graph::op::Equal;
use std::marker::PhantomData;

struct EqualKernel<R>(PhantomData<R>);

impl CpuKernel for Equal {
    fn prepare<R: Float>(&self, _: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(EqualKernel::<R>(PhantomData)))
    }
}

impl<R: Float> Kernel for EqualKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let pairs = i64::of(&reads[0]).iter().zip(i64::of(&reads[1]));
        for ((a, b), y) in pairs.zip(R::of_mut(&mut writes[0])) {
            *y = if a == b { R::ONE } else { R::ZERO };
        }
        Ok(())
    }
}
