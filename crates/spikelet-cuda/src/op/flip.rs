//! The elements of an axis in reverse order.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::Flip;

impl CudaKernel for Flip {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
        let length = x.shape[self.axis];
        let inner: usize = x.shape[self.axis + 1..].iter().product();
        let last = length - 1;
        let mut kernel = KernelSource::new("flip", Geometry::Items(y.len()));
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        kernel.line(format!(
            "    const Index row = i / {inner}u, at = row % {length}u;
    y[i] = x[(row - at + ({last}u - at)) * {inner}u + i % {inner}u];"
        ));
        Ok(vec![kernel])
    }
}
