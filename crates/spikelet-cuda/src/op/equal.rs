//! Elementwise equality of labels.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::Equal;

impl CudaKernel for Equal {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let y = &cx.outputs[0];
        let mut kernel = KernelSource::new("equal", Geometry::Items(y.len()));
        kernel.argument("a", &cx.inputs[0], Binding::Read(0));
        kernel.argument("b", &cx.inputs[1], Binding::Read(1));
        kernel.argument("y", y, Binding::Write(0));
        kernel.line("    spk_set(y[i], a[i] == b[i] ? 1.0f : 0.0f);");
        Ok(vec![kernel])
    }
}
