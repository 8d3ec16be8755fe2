//! Operands behind each other along one axis.

use super::Site;
use super::index::{dense, offset};
use crate::piece::{Geometry, Leads, Piece};
use spikelet_graph::op::Concat;

pub(crate) fn pieces(op: &Concat, site: &Site<'_>) -> Vec<Piece> {
    let y = &site.outputs[0];
    let strides = dense(&y.shape);
    let mut before = 0;
    let mut pieces = vec![];
    for (k, x) in site.inputs.iter().enumerate() {
        if !x.is_empty() {
            let mut piece = Piece::new("concat", Geometry::Items(x.len()));
            piece.argument("x", x, Leads::Read(k));
            piece.argument("y", y, Leads::Write(0));
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
