//! Constants.

use super::{LoweringContext, float_literal};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::DType;
use spikelet_graph::op::Fill;

pub(crate) fn kernels(op: &Fill, cx: &LoweringContext<'_>) -> Vec<KernelSource> {
    let ty = &cx.outputs[0];
    let mut kernel = KernelSource::new("fill", Geometry::Items(ty.len()));
    kernel.argument("y", ty, Binding::Write(0));
    kernel.line(match ty.dtype {
        DType::I64 => format!("    y[i] = {}ll;", op.value as i64),
        _ => format!("    spk_set(y[i], {});", float_literal(op.stored() as f32)),
    });
    vec![kernel]
}
