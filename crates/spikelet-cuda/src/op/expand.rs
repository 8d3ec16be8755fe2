//! Repetition along axes.

use super::Site;
use super::index::{offset, strides};
use crate::piece::{Geometry, Leads, Piece};
use spikelet_graph::op::Expand;

pub(crate) fn pieces(op: &Expand, site: &Site<'_>) -> Vec<Piece> {
    let (x, y) = (&site.inputs[0], &site.outputs[0]);
    let mut piece = Piece::new("expand", Geometry::Items(y.len()));
    piece.argument("x", x, Leads::Read(0));
    piece.argument("y", y, Leads::Write(0));
    let from = offset(&op.shape, &strides(&x.shape, &op.shape), "i");
    piece.line(format!("    y[i] = x[{from}];"));
    vec![piece]
}
