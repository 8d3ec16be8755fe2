//! Repetition along axes.

use super::LoweringContext;
use super::index::{offset, strides};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::Expand;

pub(crate) fn pieces(op: &Expand, site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let (x, y) = (&site.inputs[0], &site.outputs[0]);
    let mut piece = KernelSource::new("expand", Geometry::Items(y.len()));
    piece.argument("x", x, Binding::Read(0));
    piece.argument("y", y, Binding::Write(0));
    let from = offset(&op.shape, &strides(&x.shape, &op.shape), "i");
    piece.line(format!("    y[i] = x[{from}];"));
    vec![piece]
}
