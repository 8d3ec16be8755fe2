//! One-hot, arg max, equality.

use super::LoweringContext;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::OneHot;

pub(crate) fn one_hot(op: &OneHot, site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let y = &site.outputs[0];
    let mut piece = KernelSource::new("one_hot", Geometry::Items(y.len()));
    piece.argument("label", &site.inputs[0], Binding::Read(0));
    piece.argument("y", y, Binding::Write(0));
    let classes = op.classes;
    piece.line(format!(
        "    spk_set(y[i], label[i / {classes}u] == (long long)(i % {classes}u) ? 1.0f : 0.0f);"
    ));
    vec![piece]
}

pub(crate) fn arg_max(site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let (rows, classes) = site.inputs[0].rows_and_columns();
    let mut piece = KernelSource::new("argmax", Geometry::Warps(rows));
    piece.argument("x", &site.inputs[0], Binding::Read(0));
    piece.argument("y", &site.outputs[0], Binding::Write(0));
    // The first of the largest, and the first element if it is NaN: each lane keeps its first,
    // lanes are compared by value, then by number.
    piece.line(format!(
        "    const auto* const scores = x + row * {classes}u;
    const float first = spk_get(scores[0]);
    float most = first;
    unsigned at = 0;
    for (unsigned k = lane; k < {classes}u; k += 32) {{
      const float score = spk_get(scores[k]);
      if (score > most) {{ most = score; at = k; }}
    }}
    for (int apart = 16; apart > 0; apart /= 2) {{
      const float other = __shfl_xor_sync(0xffffffffu, most, apart);
      const unsigned there = __shfl_xor_sync(0xffffffffu, at, apart);
      if (other > most || (other == most && there < at)) {{ most = other; at = there; }}
    }}
    if (lane == 0) y[row] = at;"
    ));
    vec![piece]
}

pub(crate) fn equal(site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let y = &site.outputs[0];
    let mut piece = KernelSource::new("equal", Geometry::Items(y.len()));
    piece.argument("a", &site.inputs[0], Binding::Read(0));
    piece.argument("b", &site.inputs[1], Binding::Read(1));
    piece.argument("y", y, Binding::Write(0));
    piece.line("    spk_set(y[i], a[i] == b[i] ? 1.0f : 0.0f);");
    vec![piece]
}
