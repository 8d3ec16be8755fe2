//! Mean and variance of each channel, in two rounds.
//!
//! A thread sums deviations from its own first element and their squares; counts, means and sums
//! of squared deviations are then merged pairwise (Chan, Golub, LeVeque, 1979), in a fixed order.

use super::LoweringContext;
use super::channels::ChannelReduceTiling;
use crate::kernel_source::{Binding, Geometry, KernelSource, element};

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
    (
        ChannelReduceTiling::with(2 * cx.gpu.saturating_threads(), rows, channels, pack),
        rows,
    )
}

pub(crate) fn workspace(cx: &LoweringContext<'_>) -> usize {
    tiling(cx).0.partial(3).bytes()
}

pub(crate) fn kernels(cx: &LoweringContext<'_>) -> Vec<KernelSource> {
    let (tiling, rows) = tiling(cx);
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
    let groups = tiling.groups;
    let mut second = KernelSource::new("mean_var_merge", Geometry::Warps(channels));
    second.depth = groups.div_ceil(32).max(1) * 4;
    second.argument("partial", &tiling.partial(3), Binding::Workspace(0));
    second.line(format!(
        "    float a[3] = {{}};
    for (Index g = lane; g < {groups}u; g += 32) {{
      float b[3];
      for (int s = 0; s < 3; ++s) b[s] = partial[(g * 3 + s) * {channels}u + row];
      {MERGE}
    }}
    for (int offset = 16; offset > 0; offset /= 2) {{
      float b[3];
      for (int s = 0; s < 3; ++s) b[s] = __shfl_down_sync(0xffffffffu, a[s], offset);
      {MERGE}
    }}"
    ));
    for (k, value) in ["a[1]", "a[2] / a[0]"].into_iter().enumerate() {
        if cx.wanted[k] {
            second.argument(format!("y{k}"), &cx.outputs[k], Binding::Write(k));
            second.line(format!("    if (lane == 0) y{k}[row] = {value};"));
        }
    }
    vec![first, second]
}
