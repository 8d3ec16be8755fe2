//! A range of one axis.

use super::Site;
use super::index::{dense, offset};
use crate::piece::{Geometry, Leads, Piece};
use spikelet_graph::op::Slice;

pub(crate) fn pieces(op: &Slice, site: &Site<'_>) -> Vec<Piece> {
    let (x, y) = (&site.inputs[0], &site.outputs[0]);
    let strides = dense(&x.shape);
    let start = op.start * strides[op.axis];
    let mut piece = Piece::new("slice", Geometry::Items(y.len()));
    piece.argument("x", x, Leads::Read(0));
    piece.argument("y", y, Leads::Write(0));
    let from = offset(&y.shape, &strides, "i");
    piece.line(format!("    y[i] = x[{from} + {start}u];"));
    vec![piece]
}
