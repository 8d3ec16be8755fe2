//! Binary values to bits and back: a thread takes eight neighbours, a byte.

use super::Site;
use crate::piece::{Geometry, Leads, Piece};
use spikelet_graph::DType;

pub(crate) fn pieces(site: &Site<'_>) -> Vec<Piece> {
    let (x, y) = (&site.inputs[0], &site.outputs[0]);
    let (rows, columns) = x.rows_and_columns();
    let bytes = columns.div_ceil(64) * 8;
    let packs = y.dtype == DType::Bits;
    let mut piece = Piece::new(
        if packs { "to_bits" } else { "from_bits" },
        Geometry::Items(rows * bytes),
    );
    piece.argument("x", x, Leads::Read(0));
    piece.argument("y", y, Leads::Write(0));
    let inner = if packs {
        "      if (c + j < COLUMNS) byte |= (spk_get(x[row * COLUMNS + c + j]) != 0.0f ? 1u : 0u) << j;"
    } else {
        "      if (c + j < COLUMNS) spk_set(y[row * COLUMNS + c + j], byte >> j & 1u ? 1.0f : 0.0f);"
    };
    let (first, last) = if packs {
        (
            "unsigned byte = 0;",
            "    ((unsigned char*)y)[i] = (unsigned char)byte;",
        )
    } else {
        ("const unsigned byte = ((const unsigned char*)x)[i];", "")
    };
    piece.line(format!(
        "    const Index row = i / {bytes}u, c = i % {bytes}u * 8u;
    {first}
    #pragma unroll
    for (int j = 0; j < 8; ++j)
{}
{last}",
        inner.replace("COLUMNS", &format!("{columns}u"))
    ));
    vec![piece]
}
