//! Constants.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{View, ViewMut};
use half::{bf16, f16};
use spikelet_graph::op::Fill;

/// Sets every element of the result to one value.
struct FillKernel {
    value: f64,
}

impl CpuKernel for Fill {
    fn prepare<R: Float>(&self, _: &PrepareContext<'_>) -> Prepared {
        let value = self.stored();
        Ok(Box::new(FillKernel { value }))
    }
}

impl Kernel for FillKernel {
    fn run(&mut self, _: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        match &mut writes[0] {
            ViewMut::F32(to) => to.fill(self.value as f32),
            ViewMut::F64(to) => to.fill(self.value),
            ViewMut::F16(to) => to.fill(f16::from_f32(self.value as f32)),
            ViewMut::BF16(to) => to.fill(bf16::from_f32(self.value as f32)),
            ViewMut::I64(to) => to.fill(self.value as i64),
            ViewMut::Bits(to) => to.fill(if self.value == 0.0 { 0 } else { u64::MAX }),
            ViewMut::Unused => {}
        }
        Ok(())
    }
}
