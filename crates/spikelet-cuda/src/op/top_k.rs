//! The largest elements of each row: a thread counts the elements that come before its own.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::TopK;

impl CudaKernel for TopK {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let x = &cx.inputs[0];
        let (_, columns) = x.rows_and_columns();
        let k = self.k;
        let mut kernel = KernelSource::new("topk", Geometry::Items(x.len()));
        kernel.depth = columns;
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("values", &cx.outputs[0], Binding::Write(0));
        kernel.argument("indices", &cx.outputs[1], Binding::Write(1));
        // Every element has another rank: of equal ones, and of NaNs, the first comes first.
        kernel.line(format!(
            "    const Index row = i / {columns}u, at = i % {columns}u;
    const auto* const scores = x + row * {columns}u;
    const float own = spk_get(scores[at]);
    Index rank = 0;
    for (Index j = 0; j < {columns}u; ++j) {{
      const float other = spk_get(scores[j]);
      const bool same = other == own || (other != other && own != own);
      const bool larger = other > own || (other != other && own == own);
      rank += larger || (same && j < at);
    }}
    if (rank < {k}u) {{
      values[row * {k}u + rank] = scores[at];
      indices[row * {k}u + rank] = at;
    }}"
        ));
        Ok(vec![kernel])
    }
}
