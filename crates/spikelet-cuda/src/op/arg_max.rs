//! The index of the largest score along the last axis: one warp per row.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::ArgMax;

impl CudaKernel for ArgMax {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (rows, classes) = cx.inputs[0].rows_and_columns();
        let mut kernel = KernelSource::new("argmax", Geometry::Warps(rows));
        kernel.argument("x", &cx.inputs[0], Binding::Read(0));
        kernel.argument("y", &cx.outputs[0], Binding::Write(0));
        // The first of the largest elements, and the first element if it is NaN: each lane keeps its
        // first, lanes are compared by value, then by index.
        kernel.line(format!(
            "    const auto* const scores = x + row * {classes}u;
    const float first = spk_get(scores[0]);
    float most = first;
    unsigned at = 0;
    for (unsigned k = lane; k < {classes}u; k += 32) {{
      const float score = spk_get(scores[k]);
      if (score > most) {{ most = score; at = k; }}
    }}
    for (int offset = 16; offset > 0; offset /= 2) {{
      const float other = __shfl_xor_sync(0xffffffffu, most, offset);
      const unsigned there = __shfl_xor_sync(0xffffffffu, at, offset);
      if (other > most || (other == most && there < at)) {{ most = other; at = there; }}
    }}
    if (lane == 0) y[row] = at;"
        ));
        Ok(vec![kernel])
    }

    fn is_by_rows(&self) -> bool {
        true
    }
}
