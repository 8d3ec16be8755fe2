//! Operands one after another along an axis.

use super::LoweringContext;
use super::index::offset;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::dense_strides;
use spikelet_graph::op::Concat;

pub(crate) fn pieces(op: &Concat, site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let y = &site.outputs[0];
    let strides = dense_strides(&y.shape);
    let mut before = 0;
    let mut pieces = vec![];
    for (k, x) in site.inputs.iter().enumerate() {
        if !x.is_empty() {
            let mut piece = KernelSource::new("concat", Geometry::Items(x.len()));
            piece.argument("x", x, Binding::Read(k));
            piece.argument("y", y, Binding::Write(0));
            let to = offset(&x.shape, &strides, "i");
            piece.line(format!(
                "    y[{to} + {}u] = x[i];",
                before * strides[op.axis]
            ));
            pieces.push(piece);
        }
        before += x.shape[op.axis];
    }
    pieces
}
