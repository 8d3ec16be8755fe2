//! Concatenation along an axis.

use super::LoweringContext;
use super::index::offset;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::dense_strides;
use spikelet_graph::op::Concat;

pub(crate) fn kernels(op: &Concat, cx: &LoweringContext<'_>) -> Vec<KernelSource> {
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
                before * strides[op.axis]
            ));
            kernels.push(kernel);
        }
        before += x.shape[op.axis];
    }
    kernels
}
