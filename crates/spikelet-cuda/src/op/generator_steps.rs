//! The generator's state at each time step.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::{GENERATOR_STATE, GENERATOR_TIME, GeneratorSteps};

impl CudaKernel for GeneratorSteps {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let y = &cx.outputs[0];
        let mut kernel = KernelSource::new("generator_steps", Geometry::Items(y.len()));
        kernel.argument("x", &cx.inputs[0], Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        kernel.line(format!(
            "    const Index k = i % {GENERATOR_STATE}u;
    y[i] = x[k] + (k == {GENERATOR_TIME}u ? (long long)(i / {GENERATOR_STATE}u) : 0ll);"
        ));
        Ok(vec![kernel])
    }
}
