//! Elementwise equality of labels.

use super::LoweringContext;
use crate::kernel_source::{Binding, Geometry, KernelSource};

pub(crate) fn pieces(site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let y = &site.outputs[0];
    let mut piece = KernelSource::new("equal", Geometry::Items(y.len()));
    piece.argument("a", &site.inputs[0], Binding::Read(0));
    piece.argument("b", &site.inputs[1], Binding::Read(1));
    piece.argument("y", y, Binding::Write(0));
    piece.line("    spk_set(y[i], a[i] == b[i] ? 1.0f : 0.0f);");
    vec![piece]
}
