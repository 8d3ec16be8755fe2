//! A range of one axis.

use super::LoweringContext;
use super::index::offset;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::dense_strides;
use spikelet_graph::op::Slice;

pub(crate) fn kernels(op: &Slice, cx: &LoweringContext<'_>) -> Vec<KernelSource> {
    let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
    let strides = dense_strides(&x.shape);
    let start = op.start * strides[op.axis];
    let mut kernel = KernelSource::new("slice", Geometry::Items(y.len()));
    kernel.argument("x", x, Binding::Read(0));
    kernel.argument("y", y, Binding::Write(0));
    let from = offset(&y.shape, &strides, "i");
    kernel.line(format!("    y[i] = x[{from} + {start}u];"));
    vec![kernel]
}
