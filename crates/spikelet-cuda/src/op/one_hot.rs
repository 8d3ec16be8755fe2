//! One-hot vectors of labels.

use super::LoweringContext;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::OneHot;

pub(crate) fn pieces(op: &OneHot, site: &LoweringContext<'_>) -> Vec<KernelSource> {
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
