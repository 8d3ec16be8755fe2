//! Repetition along axes.

use super::index::{offset, strides};
use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::Expand;

impl CudaKernel for Expand {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
        let mut kernel = KernelSource::new("expand", Geometry::Items(y.len()));
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        let from = offset(&self.shape, &strides(&x.shape, &self.shape), "i");
        kernel.line(format!("    y[i] = x[{from}];"));
        Ok(vec![kernel])
    }
}
