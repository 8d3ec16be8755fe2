//! A range of one axis.

use super::LoweringContext;
use super::index::offset;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::dense_strides;
use spikelet_graph::op::Slice;

pub(crate) fn pieces(op: &Slice, site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let (x, y) = (&site.inputs[0], &site.outputs[0]);
    let strides = dense_strides(&x.shape);
    let start = op.start * strides[op.axis];
    let mut piece = KernelSource::new("slice", Geometry::Items(y.len()));
    piece.argument("x", x, Binding::Read(0));
    piece.argument("y", y, Binding::Write(0));
    let from = offset(&y.shape, &strides, "i");
    piece.line(format!("    y[i] = x[{from} + {start}u];"));
    vec![piece]
}
