//! One-hot vectors of labels.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::OneHot;

impl CudaKernel for OneHot {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let y = &cx.outputs[0];
        let mut kernel = KernelSource::new("one_hot", Geometry::Items(y.len()));
        kernel.argument("label", &cx.inputs[0], Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        let classes = self.classes;
        // A label equals one class at most: the ignored one is compared with the class.
        let ignored = self
            .ignored
            .filter(|label| (0..classes as i64).contains(label));
        let counts = match ignored {
            Some(label) => format!(" && i % {classes}u != {label}u"),
            None => String::new(),
        };
        kernel.line(format!(
        "    spk_set(y[i], label[i / {classes}u] == (long long)(i % {classes}u){counts} ? 1.0f : 0.0f);"
    ));
        Ok(vec![kernel])
    }
}
