//! Concatenation along an axis.

use super::index::offset;
use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::Concat;
use spikelet_graph::{Result, dense_strides};

impl CudaKernel for Concat {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let y = &cx.outputs[0];
        let strides = dense_strides(&y.shape);
        let mut before = 0;
        let mut kernels = vec![];
        for (k, x) in cx.inputs.iter().enumerate() {
            if !x.is_empty() {
                let mut kernel = KernelSource::new("concat", Geometry::Items(x.len()));
                kernel.argument("x", x, Binding::Read(k));
                kernel.argument("y", y, Binding::Write(0));
                let to = offset(&x.shape, &strides, "i");
                kernel.line(format!(
                    "    y[{to} + {}u] = x[i];",
                    before * strides[self.axis]
                ));
                kernels.push(kernel);
            }
            before += x.shape[self.axis];
        }
        Ok(kernels)
    }
}
