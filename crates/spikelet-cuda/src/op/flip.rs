//! The elements of an axis in reverse order.

use super::LoweringContext;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::Flip;

pub(crate) fn kernels(op: &Flip, cx: &LoweringContext<'_>) -> Vec<KernelSource> {
    let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
    let length = x.shape[op.axis];
    let inner: usize = x.shape[op.axis + 1..].iter().product();
    let last = length - 1;
    let mut kernel = KernelSource::new("flip", Geometry::Items(y.len()));
    kernel.argument("x", x, Binding::Read(0));
    kernel.argument("y", y, Binding::Write(0));
    kernel.line(format!(
        "    const Index row = i / {inner}u, at = row % {length}u;
    y[i] = x[(row - at + ({last}u - at)) * {inner}u + i % {inner}u];"
    ));
    vec![kernel]
}
