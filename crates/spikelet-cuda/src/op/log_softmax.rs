//! Logarithm of the softmax along the last axis: one warp per row.

use super::{CudaKernel, LoweringContext, warp};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_expr::cuda::Function;
use spikelet_graph::Result;
use spikelet_graph::op::LogSoftmax;

impl CudaKernel for LogSoftmax {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (rows, classes) = cx.inputs[0].rows_and_columns();
        let mut kernel = KernelSource::new("log_softmax", Geometry::Warps(rows));
        kernel.functions.extend([Function::Exp, Function::Ln]);
        kernel.argument("x", &cx.inputs[0], Binding::Read(0));
        kernel.argument("y", &cx.outputs[0], Binding::Write(0));
        // A NaN makes the row NaN: the maximum propagates it, and so does the exponential.
        kernel.line(format!(
        "    const auto* const scores = x + row * {classes}u;
    float most = spk_get(scores[0]);
    for (unsigned k = lane; k < {classes}u; k += 32) {{
      const float score = spk_get(scores[k]);
      most = score > most || score != score ? score : most;
    }}
{}
    float sum = 0.0f;
    for (unsigned k = lane; k < {classes}u; k += 32) sum += spk_exp(spk_get(scores[k]) - most);
{}
    const float log = spk_ln(sum);
    for (unsigned k = lane; k < {classes}u; k += 32) spk_set(y[row * {classes}u + k], (spk_get(scores[k]) - most) - log);",
        warp::reduce("most", warp::MAX),
        warp::reduce("sum", warp::SUM)
    ));
        Ok(vec![kernel])
    }

    fn is_by_rows(&self) -> bool {
        true
    }
}
