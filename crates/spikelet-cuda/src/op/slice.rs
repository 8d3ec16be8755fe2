//! A range of one axis.

use super::index::offset;
use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::Slice;
use spikelet_graph::{Result, dense_strides};

impl CudaKernel for Slice {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
        let strides = dense_strides(&x.shape);
        let start = self.start * strides[self.axis];
        let mut kernel = KernelSource::new("slice", Geometry::Items(y.len()));
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        let from = offset(&y.shape, &strides, "i");
        kernel.line(format!("    y[i] = x[{from} + {start}u];"));
        Ok(vec![kernel])
    }
}
