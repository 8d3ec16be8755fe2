//! Axes in another order.

use super::Site;
use super::index::{dense, offset};
use crate::piece::{Geometry, Leads, Piece};
use spikelet_graph::op::Permute;

pub(crate) fn pieces(op: &Permute, site: &Site<'_>) -> Vec<Piece> {
    let (x, y) = (&site.inputs[0], &site.outputs[0]);
    let own = dense(&x.shape);
    let strides: Vec<usize> = op.order.iter().map(|&k| own[k]).collect();
    let mut piece = Piece::new("permute", Geometry::Items(y.len()));
    piece.argument("x", x, Leads::Read(0));
    piece.argument("y", y, Leads::Write(0));
    piece.line(format!(
        "    y[i] = x[{}];",
        offset(&y.shape, &strides, "i")
    ));
    vec![piece]
}
