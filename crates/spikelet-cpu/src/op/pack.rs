//! Binary values to bits and back.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{Element, View, ViewMut};
use crate::spikes;
use spikelet_graph::op::Pack;
use std::marker::PhantomData;

struct PackKernel<R> {
    columns: usize,
    element: PhantomData<R>,
}

impl CpuKernel for Pack {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(PackKernel::<R> {
            columns: cx.types.inputs[0].rows_and_columns().1,
            element: PhantomData,
        }))
    }
}

impl<R: Float> Kernel for PackKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        if let ViewMut::Bits(bits) = &mut writes[0] {
            let x = R::of(&reads[0]);
            spikes::pack(x, self.columns, bits, |&x| u8::from(x != R::ZERO));
        } else {
            let x = R::of_mut(&mut writes[0]);
            let values = [R::ZERO, R::ONE];
            spikes::unpack(u64::of(&reads[0]), self.columns, x, values);
        }
        Ok(())
    }
}
