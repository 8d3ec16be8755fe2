//! Updates of a matrix by sums of outer products.

use super::{CudaKernel, LoweringContext, float_literal};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::RankUpdate;

/// A thread for each element, which reads the factors of its row: the same ones as its neighbors.
impl CudaKernel for RankUpdate {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let y = &cx.outputs[0];
        let (out, columns) = y.rows_and_columns();
        let mut kernel = KernelSource::new("rank_update", Geometry::Items(y.len()));
        kernel.argument("w", &cx.inputs[0], Binding::Read(0));
        for (k, ty) in cx.inputs.iter().enumerate().skip(1) {
            kernel.argument(format!("f{k}"), ty, Binding::Read(k));
        }
        kernel.argument("y", y, Binding::Write(0));
        kernel.line(format!(
            "    const Index row = i / {columns}u, column = i % {columns}u;
    float sum = spk_get(w[i]);
    bool active = false;"
        ));
        for k in (1..cx.inputs.len()).step_by(2) {
            let rows = cx.inputs[k].rows_and_columns().0;
            kernel.depth = kernel.depth.max(rows);
            kernel.line(format!(
                "    for (Index r = 0; r < {rows}u; ++r) {{
      const float a = spk_get(f{k}[r * {out}u + row]);
      if (a != 0.0f) {{
        active = true;
        sum = __fadd_rn(sum, __fmul_rn(a, spk_get(f{}[r * {columns}u + column])));
      }}
    }}",
                k + 1
            ));
        }
        if let Some([low, high]) = self.bounds {
            let [low, high] = [low, high].map(|bound| float_literal(bound as f32));
            kernel.line(format!(
                "    if (active) {{
      sum = sum < {low} ? {low} : sum;
      sum = sum > {high} ? {high} : sum;
    }}"
            ));
        }
        kernel.line("    if (active) spk_set(y[i], sum); else y[i] = w[i];");
        Ok(vec![kernel])
    }
}
