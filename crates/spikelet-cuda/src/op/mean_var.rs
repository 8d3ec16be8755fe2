//! Mean and variance of each channel, in two rounds.
//!
//! A thread sums deviations from its own first element and their squares. Counts, means and sums of squared deviations of a
//! block are merged pairwise (Chan, Golub, LeVeque, 1979), those of all blocks around their common mean, in a fixed order.

use super::channels::{ChannelReduceTiling, Join};
use super::{CudaKernel, Lowered, LoweringContext};
use crate::kernel_source::{Binding, KernelSource, element};
use spikelet_graph::op::MeanVar;
use spikelet_graph::{Result, TensorType};

/// Loads of a thread in flight.
const LOADS_IN_FLIGHT: usize = 8;

/// Merges count, mean and squared deviations `b` into `a`.
const MERGE: &str = "if (b[0] > 0.0f) {
        const float n = a[0] + b[0], apart = b[1] - a[1], share = b[0] / n;
        a[2] += b[2] + apart * apart * a[0] * share;
        a[1] += apart * share;
        a[0] = n;
      }";

fn tiling(cx: &LoweringContext<'_>) -> (ChannelReduceTiling, usize) {
    let x = &cx.inputs[0];
    let (rows, channels) = x.rows_and_columns();
    let mut pack = 16 / x.dtype.size_in_bytes();
    while !channels.is_multiple_of(pack) {
        pack /= 2;
    }
    let threads = 2 * cx.gpu.saturating_threads();
    // With few rows for each thread the second round would take longer than the first.
    let most = (rows * channels / pack / LOADS_IN_FLIGHT).max(1);
    let tiling = ChannelReduceTiling::with(threads.min(most), rows, channels, pack);
    (tiling, rows)
}

impl CudaKernel for MeanVar {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        let (tiling, rows) = tiling(cx);
        let partial = tiling.partial(3);
        Ok(Lowered::kernels(partial.bytes(), move || {
            Ok(kernels(tiling, rows, &partial, cx))
        }))
    }
}

fn kernels(
    tiling: ChannelReduceTiling,
    rows: usize,
    partial: &TensorType,
    cx: &LoweringContext<'_>,
) -> Vec<KernelSource> {
    let (pack, channels) = (tiling.pack, tiling.channels);
    let mut first = tiling.kernel("mean_var");
    first.argument("x", &cx.inputs[0], Binding::Read(0));
    let (ty, in_flight_less_one) = (element(cx.inputs[0].dtype), LOADS_IN_FLIGHT - 1);
    first.line(format!(
        "  float from[{pack}], sum[{pack}] = {{}}, squares[{pack}] = {{}}, count = 0.0f;
  if (row0 < {rows}u) {{
    const auto e = spk_load<{pack}>(x + row0 * {channels}u + c);
    for (int j = 0; j < {pack}; ++j) from[j] = e[j];
  }} else {{
    for (int j = 0; j < {pack}; ++j) from[j] = 0.0f;
  }}
  const auto add = [&](const auto& e) {{
    count += 1.0f;
    #pragma unroll
    for (int j = 0; j < {pack}; ++j) {{
      const float apart = e[j] - from[j];
      sum[j] += apart;
      squares[j] = __fmaf_rn(apart, apart, squares[j]);
    }}
  }};
  Index r = row0;
  for (; r + {in_flight_less_one}u * step < {rows}u; r += {LOADS_IN_FLIGHT}u * step) {{
    spk_vec<{ty}, {pack}> e[{LOADS_IN_FLIGHT}];
    #pragma unroll
    for (int k = 0; k < {LOADS_IN_FLIGHT}; ++k) e[k] = spk_load<{pack}>(x + (r + k * step) * {channels}u + c);
    #pragma unroll
    for (int k = 0; k < {LOADS_IN_FLIGHT}; ++k) add(e[k]);
  }}
  for (; r < {rows}u; r += step) add(spk_load<{pack}>(x + r * {channels}u + c));
  float own[{pack}][3];
  for (int j = 0; j < {pack}; ++j) {{
    const float share = count > 0.0f ? sum[j] / count : 0.0f;
    own[j][0] = count;
    own[j][1] = from[j] + share;
    own[j][2] = fmaxf(squares[j] - sum[j] * share, 0.0f);
  }}"
    ));
    tiling.combine_rows(&mut first, "own", 3, MERGE);
    // Counts, means and squared deviations: first the mean of all, then the squares of the deviations from it. No division
    // is in a loop.
    let joined = Join {
        groups: tiling.groups,
        results: channels,
        values: 3,
        stride: 3 * channels,
        start: "0.0f",
        combine: "a[0] += b[0];",
    };
    let values = ["mean", "a[0] / count"].into_iter().enumerate();
    let stores: String = values
        .filter(|(k, _)| cx.wanted[*k])
        .map(|(k, value)| format!("y{k}[result] = {value}; "))
        .collect();
    let mut second = joined.blocks("mean_var_merge", partial);
    second.line(format!(
        "  const float count = (float){rows}u, from = result < {channels}u ? partial[{channels}u + result] : 0.0f;
  float a[1] = {{}};
{}{}  __syncthreads();
  const float mean = from + all[0][0][lane] / count;
  a[0] = 0.0f;
  __syncthreads();
{}{}  if (part == 0u && result < {channels}u) {{ {stores}}}",
        joined.each_group("a[0] = __fmaf_rn(b[0], b[1] - from, a[0]);"),
        joined.join_parts("all", 1, joined.combine),
        joined.each_group("const float apart = b[1] - mean; a[0] += __fmaf_rn(b[0] * apart, apart, b[2]);"),
        joined.join_parts("all", 1, joined.combine),
    ));
    for k in (0..2).filter(|k| cx.wanted[*k]) {
        second.argument(format!("y{k}"), &cx.outputs[k], Binding::Write(k));
    }
    vec![first, second]
}
