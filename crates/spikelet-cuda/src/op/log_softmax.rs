//! Logarithm of the softmax along the last axis: a warp a row.

use super::LoweringContext;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_expr::cuda::Function;

pub(crate) fn pieces(site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let (rows, classes) = site.inputs[0].rows_and_columns();
    let mut piece = KernelSource::new("log_softmax", Geometry::Warps(rows));
    piece.functions.extend([Function::Exp, Function::Ln]);
    piece.argument("x", &site.inputs[0], Binding::Read(0));
    piece.argument("y", &site.outputs[0], Binding::Write(0));
    // NaN anywhere makes the whole row NaN: it is the larger of two, and its exponential too.
    piece.line(format!(
        "    const auto* const scores = x + row * {classes}u;
    float most = spk_get(scores[0]);
    for (unsigned k = lane; k < {classes}u; k += 32) {{
      const float score = spk_get(scores[k]);
      most = score > most || score != score ? score : most;
    }}
    for (int apart = 16; apart > 0; apart /= 2) {{
      const float other = __shfl_xor_sync(0xffffffffu, most, apart);
      most = other > most || other != other ? other : most;
    }}
    float sum = 0.0f;
    for (unsigned k = lane; k < {classes}u; k += 32) sum += spk_exp(spk_get(scores[k]) - most);
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    const float log = spk_ln(sum);
    for (unsigned k = lane; k < {classes}u; k += 32) spk_set(y[row * {classes}u + k], (spk_get(scores[k]) - most) - log);"
    ));
    vec![piece]
}
