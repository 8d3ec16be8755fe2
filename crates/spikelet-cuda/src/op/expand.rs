//! Repetition along axes.

use super::LoweringContext;
use super::index::{offset, strides};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::Expand;

pub(crate) fn kernels(op: &Expand, cx: &LoweringContext<'_>) -> Vec<KernelSource> {
    let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
    let mut kernel = KernelSource::new("expand", Geometry::Items(y.len()));
    kernel.argument("x", x, Binding::Read(0));
    kernel.argument("y", y, Binding::Write(0));
    let from = offset(&op.shape, &strides(&x.shape, &op.shape), "i");
    kernel.line(format!("    y[i] = x[{from}];"));
    vec![kernel]
}
