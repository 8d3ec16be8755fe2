//! Elements selected by indices, and sums of elements by index without atomic additions.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::{Gather, GatherSizes, Indexed, ScatterAdd};

/// An index limited to the axis: `spk_limited(index, length)`.
const LIMITED: &str =
    "__device__ __forceinline__ unsigned spk_limited(long long index, unsigned length) {
  return index < 0 ? 0u : index >= (long long)length ? length - 1u : (unsigned)index;
}
";

/// Elements of a row that a lane sums.
const PER_LANE: usize = 4;

/// Slices that a warp loads before it adds them.
const LOADS_IN_FLIGHT: usize = 8;

/// Rows of the result of a block, a warp each.
const ROWS: usize = 8;

/// Threads of a block, and indices that it reads at once.
const THREADS: usize = 32 * ROWS;

impl CudaKernel for Gather {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (x, index, y) = (&cx.inputs[0], &cx.inputs[1], &cx.outputs[0]);
        let GatherSizes {
            length,
            count,
            inner,
            ..
        } = self.sizes(x, index);
        let mut kernel = KernelSource::new("gather", Geometry::Items(y.len()));
        kernel.depth = 2;
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("index", index, Binding::Read(1));
        kernel.argument("y", y, Binding::Write(0));
        let at = match self.indexed {
            Indexed::Slices => format!("i / {inner}u % {count}u"),
            Indexed::Elements => "i".to_string(),
        };
        kernel.line(format!(
            "    const long long given = index[{at}];
    const Index at = given < 0 ? 0u : given >= {length}ll ? {length}u - 1u : (Index)given;
    y[i] = x[(i / {}u * {length}u + at) * {inner}u + i % {inner}u];",
            count * inner
        ));
        Ok(vec![kernel])
    }
}

impl CudaKernel for ScatterAdd {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let sizes = self.sizes(&cx.inputs[0], &cx.inputs[1]);
        Ok(match self.indexed {
            _ if sizes.count == 0 => vec![zeros(cx)],
            Indexed::Slices => vec![slices(sizes, cx)],
            Indexed::Elements => vec![elements(sizes, cx)],
        })
    }
}

fn arguments(kernel: &mut KernelSource, cx: &LoweringContext<'_>) {
    kernel.argument("x", &cx.inputs[0], Binding::Read(0));
    kernel.argument("index", &cx.inputs[1], Binding::Read(1));
    kernel.argument("y", &cx.outputs[0], Binding::Write(0));
}

fn zeros(cx: &LoweringContext<'_>) -> KernelSource {
    let y = &cx.outputs[0];
    let mut kernel = KernelSource::new("scatter_add", Geometry::Items(y.len()));
    kernel.argument("y", y, Binding::Write(0));
    kernel.line("    y[i] = 0.0f;");
    kernel
}

/// A thread for each element of the result, which looks at all indices of its place.
fn elements(sizes: GatherSizes, cx: &LoweringContext<'_>) -> KernelSource {
    let GatherSizes {
        length,
        count,
        inner,
        ..
    } = sizes;
    let mut kernel = KernelSource::new("scatter_add", Geometry::Items(cx.outputs[0].len()));
    kernel.depth = count;
    arguments(&mut kernel, cx);
    kernel.line(format!(
        "    const Index row = i / {inner}u, own = row % {length}u;
    const Index first = row / {length}u * {}u + i % {inner}u;
    float sum = 0.0f;
    for (Index k = 0; k < {count}u; ++k) {{
      const long long given = index[first + k * {inner}u];
      const Index at = given < 0 ? 0u : given >= {length}ll ? {length}u - 1u : (Index)given;
      if (at == own) sum += spk_get(x[first + k * {inner}u]);
    }}
    y[i] = sum;",
        count * inner
    ));
    kernel
}

/// A warp for each row of the result, and blocks of rows. A block reads the index in pieces; each warp adds
/// the slices that point to its own row, in the order of the index.
fn slices(sizes: GatherSizes, cx: &LoweringContext<'_>) -> KernelSource {
    let GatherSizes {
        outer,
        length,
        count,
        inner,
    } = sizes;
    let groups = length.div_ceil(ROWS);
    let columns = 32 * PER_LANE;
    let geometry = Geometry::Blocks {
        grid: [outer * groups, inner.div_ceil(columns)],
        block: THREADS,
        shared: 0,
    };
    let mut kernel = KernelSource::new("scatter_add", geometry);
    kernel.before = LIMITED.to_string();
    arguments(&mut kernel, cx);
    kernel.line(format!(
        "  __shared__ Index rows[{THREADS}];
  const Index warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
  const Index outer = blockIdx.x / {groups}u, first = blockIdx.x % {groups}u * {ROWS}u;
  const Index column = blockIdx.y * {columns}u + lane;
  float sum[{PER_LANE}] = {{}};
  for (Index base = 0; base < {count}u; base += {THREADS}u) {{
    const Index k = base + threadIdx.x;
    // A row before the first wraps around to a large number.
    rows[threadIdx.x] = k < {count}u ? spk_limited(index[k], {length}u) - first : {ROWS}u;
    __syncthreads();
    for (Index part = 0; part < {THREADS}u; part += 32u) {{
      unsigned hits = __ballot_sync(0xffffffffu, rows[part + lane] == warp);
      while (hits != 0u) {{
        // Several slices are loaded at once and added one after another.
        float loaded[{LOADS_IN_FLIGHT}][{PER_LANE}];
        #pragma unroll
        for (int s = 0; s < {LOADS_IN_FLIGHT}; ++s) {{
          const bool some = hits != 0u;
          const Index hit = base + part + (some ? __ffs(hits) - 1 : 0);
          hits &= hits - 1u;
          #pragma unroll
          for (int v = 0; v < {PER_LANE}; ++v) {{
            const Index c = column + 32u * v;
            loaded[s][v] = some && c < {inner}u ? spk_get(x[(outer * {count}u + hit) * {inner}u + c]) : 0.0f;
          }}
        }}
        #pragma unroll
        for (int s = 0; s < {LOADS_IN_FLIGHT}; ++s)
          #pragma unroll
          for (int v = 0; v < {PER_LANE}; ++v) sum[v] += loaded[s][v];
      }}
    }}
    __syncthreads();
  }}
  if (first + warp < {length}u) {{
    #pragma unroll
    for (int v = 0; v < {PER_LANE}; ++v)
      if (column + 32u * v < {inner}u) y[(outer * {length}u + first + warp) * {inner}u + column + 32u * v] = sum[v];
  }}"
    ));
    kernel
}
