//! Sums and maxima, each in an order that follows from the shapes and the GPU's model alone.
//!
//! Kept and reduced axes alternate; neighbors of one kind are merged first. Rows are reduced by
//! a warp each, columns by a thread each, and where that leaves most of the GPU idle, in two
//! rounds: partial results of chunks first, which go through the workspace.

use super::LoweringContext;
use super::index::{dense, offset};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::{Reduce, Reduction};
use spikelet_graph::{DType, TensorType};

/// The reduction of a tensor seen as result × reduced, each with its own strides.
struct Layout {
    kept: Vec<(usize, usize)>,
    reduced: Vec<(usize, usize)>,
    results: usize,
    length: usize,
}

impl Layout {
    fn new(op: &Reduce, x: &TensorType) -> Self {
        let strides = dense(&x.shape);
        let part = |reduced: bool| -> Vec<(usize, usize)> {
            (0..x.shape.len())
                .filter(|k| op.axes.contains(k) == reduced)
                .map(|k| (x.shape[k], strides[k]))
                .collect()
        };
        let (kept, reduced) = (part(false), part(true));
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

    /// Whether neighbors along the reduced axes lie next to each other.
    fn is_rows(&self) -> bool {
        let innermost = |axes: &[(usize, usize)]| axes.iter().rev().find(|a| a.0 > 1).map(|a| a.1);
        innermost(&self.reduced) == Some(1) || self.results == 1
    }

    /// Chunks that the reduced axes are cut into, so that enough threads have work.
    fn chunks(&self, gpu: &Properties) -> usize {
        let lanes = if self.is_rows() { 32 } else { 1 };
        let threads = self.results.max(1) * lanes;
        let wanted = gpu.saturating_threads().div_ceil(threads);
        // A thread has at least this many elements to itself, or a second round costs more.
        let most = self.length / (64 * lanes);
        wanted.min(most).clamp(1, 1024)
    }
}

pub(crate) fn workspace(op: &Reduce, site: &LoweringContext<'_>) -> usize {
    let layout = Layout::new(op, &site.inputs[0]);
    match layout.chunks(site.gpu) {
        1 => 0,
        chunks => 4 * chunks * layout.results,
    }
}

pub(crate) fn pieces(op: &Reduce, site: &LoweringContext<'_>) -> Vec<KernelSource> {
    let layout = Layout::new(op, &site.inputs[0]);
    let chunks = layout.chunks(site.gpu);
    let (x, y) = (&site.inputs[0], &site.outputs[0]);
    if chunks == 1 {
        let mut piece = round(op.reduction, &layout, 1);
        piece.argument("x", x, Binding::Read(0));
        piece.argument("y", y, Binding::Write(0));
        return vec![piece];
    }
    let partial = TensorType::new(DType::F32, [chunks, layout.results]);
    let mut first = round(op.reduction, &layout, chunks);
    first.argument("x", x, Binding::Read(0));
    first.argument("y", &partial, Binding::Workspace(0));
    let second = Layout {
        kept: vec![(layout.results, 1)],
        reduced: vec![(chunks, layout.results)],
        results: layout.results,
        length: chunks,
    };
    let mut second = round(op.reduction, &second, 1);
    second.argument("x", &partial, Binding::Workspace(0));
    second.argument("y", y, Binding::Write(0));
    vec![first, second]
}

/// One round: `chunks` partial results for each result, `[chunks, results]`.
fn round(reduction: Reduction, layout: &Layout, chunks: usize) -> KernelSource {
    let (start, join) = match reduction {
        Reduction::Sum => ("0.0f", "a + b"),
        Reduction::Max => ("-__int_as_float(0x7f800000)", "a > b || a != a ? a : b"),
    };
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
    let mut piece = KernelSource::new(name, geometry);
    piece.depth = chunk.div_ceil(if rows { 32 } else { 1 }).div_ceil(8);
    let item = if rows { "row" } else { "i" };
    let (from, step) = if rows { ("lane", 32) } else { ("0", 1) };
    let base = Layout::at(&layout.kept, "result");
    let element = Layout::at(&layout.reduced, "k");
    piece.line(format!(
        "    const Index result = {item} % {results}u, chunk = {item} / {results}u;
    const auto* const from = x + ({base});
    const Index end = min((chunk + 1) * {chunk}u, {length}u);
    float total = {start};
    #pragma unroll 16
    for (Index k = chunk * {chunk}u + {from}; k < end; k += {step}) {{
      const float a = spk_get(from[{element}]), b = total;
      total = {join};
    }}"
    ));
    if rows {
        piece.line(format!(
            "    for (int apart = 16; apart > 0; apart /= 2) {{
      const float a = __shfl_xor_sync(0xffffffffu, total, apart), b = total;
      total = {join};
    }}
    if (lane == 0)"
        ));
    }
    piece.line(format!("    spk_set(y[{item}], total);"));
    piece
}
