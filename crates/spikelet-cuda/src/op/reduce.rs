//! Sums and maxima, in an order that depends on the shapes and the GPU's model alone.
//!
//! Kept and reduced axes alternate; neighboring axes of one kind are merged first. Rows are reduced
//! by a warp each, columns by a thread each. Where that leaves most of the GPU idle, there are two
//! rounds, with partial results of chunks in the workspace.

use super::channels::{ChannelReduceTiling, Join};
use super::index::offset;
use super::{CudaKernel, Lowered, LoweringContext, warp};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_graph::op::{Reduce, Reduction};
use spikelet_graph::{DType, TensorType};
use spikelet_graph::{Result, dense_strides};

/// Elements of rows that a thread reduces.
const SHORT_ROW: usize = 32;

/// Rows from which on a thread sums neighboring channels.
const MANY_ROWS: usize = 1024;

/// Channels from which on each has enough of a thread.
const MANY_CHANNELS: usize = 1 << 16;

/// Rows of a thread whose elements are loaded together.
const LOADS_IN_FLIGHT: usize = 8;

/// The axes of a reduction: kept and reduced ones, as sizes and strides.
struct ReduceAxes {
    kept: Vec<(usize, usize)>,
    reduced: Vec<(usize, usize)>,
    results: usize,
    length: usize,
}

impl ReduceAxes {
    fn new(op: &Reduce, x: &TensorType) -> Self {
        let strides = dense_strides(&x.shape);
        let axes_of = |reduced: bool| -> Vec<(usize, usize)> {
            (0..x.shape.len())
                .filter(|k| op.axes.contains(k) == reduced)
                .map(|k| (x.shape[k], strides[k]))
                .collect()
        };
        let (kept, reduced) = (axes_of(false), axes_of(true));
        let count = |axes: &[(usize, usize)]| axes.iter().map(|a| a.0).product();
        Self {
            results: count(&kept),
            length: count(&reduced),
            kept,
            reduced,
        }
    }

    fn at(axes: &[(usize, usize)], index: &str) -> String {
        let (shape, strides): (Vec<usize>, Vec<usize>) = axes.iter().copied().unzip();
        offset(&shape, &strides, index)
    }

    /// Whether elements along the reduced axes are contiguous, and a row has enough of them for a warp.
    fn is_rows(&self) -> bool {
        let innermost = |axes: &[(usize, usize)]| axes.iter().rev().find(|a| a.0 > 1).map(|a| a.1);
        (innermost(&self.reduced) == Some(1) && self.length > SHORT_ROW) || self.results == 1
    }

    /// Rows and channels, if the reduction is over all axes but the last.
    fn rows_of_channels(&self) -> Option<[usize; 2]> {
        let kept: Vec<_> = self.kept.iter().filter(|axis| axis.0 > 1).collect();
        match kept[..] {
            [&(channels, 1)] if self.length >= MANY_ROWS => Some([self.length, channels]),
            _ => None,
        }
    }

    /// The number of chunks of the reduced axes, such that enough threads have work.
    fn chunks(&self, gpu: &Properties) -> usize {
        let lanes = if self.is_rows() { 32 } else { 1 };
        let threads = self.results.max(1) * lanes;
        let wanted = gpu.saturating_threads().div_ceil(threads);
        // With fewer elements per thread a second round would cost more.
        let max_chunks = self.length / (64 * lanes);
        wanted.min(max_chunks).clamp(1, 1024)
    }
}

/// The tiling of a sum over all axes but the channels.
fn channel_tiling(op: &Reduce, cx: &LoweringContext<'_>) -> Option<(ChannelReduceTiling, usize)> {
    let x = &cx.inputs[0];
    let floats = matches!(x.dtype, DType::F32 | DType::BF16 | DType::F16);
    let sums = op.reduction == Reduction::Sum && floats;
    let [rows, channels] = ReduceAxes::new(op, x).rows_of_channels().filter(|_| sums)?;
    let mut pack = 16 / x.dtype.size_in_bytes();
    while !channels.is_multiple_of(pack) {
        pack /= 2;
    }
    // Single channels are better read by neighboring threads; a grid has a limited number of blocks over channels.
    if pack == 1 || channels > MANY_CHANNELS {
        return None;
    }
    let most = (rows * channels / pack / LOADS_IN_FLIGHT).max(1);
    let threads = (2 * cx.gpu.saturating_threads()).min(most);
    let tiling = ChannelReduceTiling::with(threads, rows, channels, pack);
    Some((tiling, rows))
}

/// The sums of all rows of each channel.
fn channel_kernels(
    tiling: ChannelReduceTiling,
    rows: usize,
    cx: &LoweringContext<'_>,
) -> Vec<KernelSource> {
    let (pack, channels, last) = (tiling.pack, tiling.channels, LOADS_IN_FLIGHT - 1);
    let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
    let ty = element(x.dtype);
    let mut first = tiling.kernel("sum_channels");
    first.argument("x", x, Binding::Read(0));
    first.line(format!(
        "  float sum[{pack}][1] = {{}};
  Index r = row0;
  for (; r + {last}u * step < {rows}u; r += {LOADS_IN_FLIGHT}u * step) {{
    spk_vec<{ty}, {pack}> e[{LOADS_IN_FLIGHT}];
    #pragma unroll
    for (int k = 0; k < {LOADS_IN_FLIGHT}; ++k) e[k] = spk_load<{pack}>(x + (r + k * step) * {channels}u + c);
    #pragma unroll
    for (int j = 0; j < {pack}; ++j) {{
      float total = 0.0f;
      #pragma unroll
      for (int k = 0; k < {LOADS_IN_FLIGHT}; ++k) total += e[k][j];
      sum[j][0] += total;
    }}
  }}
  for (; r < {rows}u; r += step) {{
    const auto e = spk_load<{pack}>(x + r * {channels}u + c);
    for (int j = 0; j < {pack}; ++j) sum[j][0] += e[j];
  }}"
    ));
    tiling.combine_rows(&mut first, "sum", 1, "a[0] += b[0];");
    let mut second = tiling.sums("sum_channels_join", 1, "spk_set(y[channel], total);");
    second.argument("y", y, Binding::Write(0));
    vec![first, second]
}

impl CudaKernel for Reduce {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        if let Some((tiling, rows)) = channel_tiling(self, cx) {
            let workspace = tiling.partial(1).bytes();
            let write = move || Ok(channel_kernels(tiling, rows, cx));
            return Ok(Lowered::kernels(workspace, write));
        }
        let axes = ReduceAxes::new(self, &cx.inputs[0]);
        let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
        let chunks = axes.chunks(cx.gpu);
        if chunks == 1 {
            return Ok(Lowered::kernels(0, move || {
                let mut kernel = pass(self.reduction, &axes, 1);
                kernel.argument("x", x, Binding::Read(0));
                kernel.argument("y", y, Binding::Write(0));
                Ok(vec![kernel])
            }));
        }
        let partial = TensorType::new(DType::F32, [chunks, axes.results]);
        Ok(Lowered::kernels(partial.bytes(), move || {
            let mut first = pass(self.reduction, &axes, chunks);
            first.argument("x", x, Binding::Read(0));
            first.argument("y", &partial, Binding::Workspace(0));
            let (start, combine) = rule(self.reduction);
            let combine = format!(
                "const auto join = [](float a, float b) {{ return {combine}; }}; a[0] = join(b[0], a[0]);"
            );
            let joined = Join {
                groups: chunks,
                results: axes.results,
                values: 1,
                stride: axes.results,
                start,
                combine: &combine,
            };
            let mut second = joined.kernel("join", &partial, "spk_set(y[result], a[0]);");
            second.argument("y", y, Binding::Write(0));
            Ok(vec![first, second])
        }))
    }

    fn is_by_rows(&self) -> bool {
        true
    }
}

/// The value of no elements, and how two are joined.
fn rule(reduction: Reduction) -> (&'static str, &'static str) {
    match reduction {
        Reduction::Sum => ("0.0f", warp::SUM),
        Reduction::Max => ("-__int_as_float(0x7f800000)", warp::MAX),
    }
}

/// One round: `chunks` partial results for each result, `[chunks, results]`.
fn pass(reduction: Reduction, layout: &ReduceAxes, chunks: usize) -> KernelSource {
    let (start, combine) = rule(reduction);
    let (results, length) = (layout.results, layout.length);
    let chunk = length.div_ceil(chunks);
    let rows = layout.is_rows();
    let items = results * chunks;
    let name = match reduction {
        Reduction::Sum => "sum",
        Reduction::Max => "max",
    };
    let geometry = if rows {
        Geometry::Warps(items)
    } else {
        Geometry::Items(items)
    };
    let mut kernel = KernelSource::new(name, geometry);
    kernel.depth = chunk.div_ceil(if rows { 32 } else { 1 }).div_ceil(8);
    let item = if rows { "row" } else { "i" };
    let (from, step) = if rows { ("lane", 32) } else { ("0", 1) };
    let base = ReduceAxes::at(&layout.kept, "result");
    let element = ReduceAxes::at(&layout.reduced, "k");
    kernel.line(format!(
        "    const Index result = {item} % {results}u, chunk = {item} / {results}u;
    const auto* const from = x + ({base});
    const Index end = min((chunk + 1) * {chunk}u, {length}u);
    float total = {start};
    #pragma unroll 16
    for (Index k = chunk * {chunk}u + {from}; k < end; k += {step}) {{
      const float a = spk_get(from[{element}]), b = total;
      total = {combine};
    }}"
    ));
    if rows {
        kernel.line(warp::reduce("total", combine));
        kernel.line("    if (lane == 0)");
    }
    kernel.line(format!("    spk_set(y[{item}], total);"));
    kernel
}
