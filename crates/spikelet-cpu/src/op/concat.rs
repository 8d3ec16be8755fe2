//! Operands one after another along an axis.

use super::copy::CopyKernel;
use super::{CpuKernel, Float, PrepareContext, Prepared};
use spikelet_graph::op::Concat;

impl CpuKernel for Concat {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let kernel = CopyKernel::concatenated(&cx.types, self.axis);
        Ok(Box::new(kernel))
    }
}
