//! Neuron scans with feedback: one kernel for all time steps, forward and backward.

mod backward;
mod forward;
mod overlap;
mod tiling;

pub(super) use forward::writes_bits;
pub(crate) use overlap::overlap_chunks;

use super::scan::{lowered, start};
use super::{Lowered, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_graph::op::{Feedback, MatmulPrecision, Port, Recurrence, Scan, ScanGrad};
use spikelet_graph::{DType, Result, TensorType};
use tiling::{Direction, Part, Tiling};

const NO_TILE: &str = "a tile of its neurons does not fit in a multiprocessor's shared memory; use fewer neurons, or bf16";

pub(super) fn lower_forward<'a>(
    op: &'a Scan,
    feedback: &'a Feedback,
    cx: &'a LoweringContext<'_>,
) -> Result<Lowered<'a>> {
    let tiling = forward::tiling(op, feedback, (cx.gpu, cx.node.notes.share), &cx.inputs);
    let tiling = tiling.ok_or_else(|| cx.refuse(NO_TILE))?;
    Ok(lowered(cx, tiling.workspace(), move || {
        forward::kernels(op, feedback, &tiling, cx)
    }))
}

pub(super) fn lower_backward<'a>(
    op: &'a ScanGrad,
    feedback: &'a Feedback,
    cx: &'a LoweringContext<'_>,
) -> Result<Lowered<'a>> {
    let tiling = backward::tiling(op, feedback, (cx.gpu, cx.node.notes.share), &cx.inputs);
    let tiling = tiling.ok_or_else(|| cx.refuse(NO_TILE))?;
    Ok(lowered(cx, tiling.workspace(), move || {
        backward::kernels(op, feedback, &tiling, cx)
    }))
}

/// 16-bit terms of a weight: three bf16 have all bits of an f32, two more than TF32 or f16.
fn planes(weight: &TensorType, precision: MatmulPrecision) -> usize {
    match (weight.dtype, precision) {
        (DType::BF16, _) => 1,
        (DType::F16, _) | (_, MatmulPrecision::Tf32) => 2,
        _ => 3,
    }
}

/// The device functions of a product.
fn product_text(tiling: &Tiling, direction: Direction, weight: &TensorType) -> String {
    let (at, product) = match direction {
        Direction::Forward => (
            "own * FEATURES + other",
            include_str!("../../text/recurrent_spikes.cuh"),
        ),
        Direction::Backward => (
            "other * FEATURES + own",
            include_str!("../../text/recurrent_gradients.cuh"),
        ),
    };
    format!(
        "{}typedef {} Weight;
// The weight between a neuron of this block and another one; 0 outside the matrix.
__device__ __forceinline__ float spk_weight_at(const Weight* __restrict__ w, int own, int other) {{
  return own < FEATURES && other < FEATURES ? spk_get(w[{at}]) : 0.0f;
}}
{}{product}",
        tiling.defines(),
        element(weight.dtype),
        include_str!("../../text/recurrent.cuh"),
    )
}

/// The kernel, and before it the one that divides the weights into terms, if they do not stay on chip.
fn with_weights(
    mut kernel: KernelSource,
    tiling: &Tiling,
    cx: &LoweringContext<'_>,
) -> Vec<KernelSource> {
    let weight = cx.ports().reads(Port::Weight);
    let shared = tiling.workspace();
    if shared == 0 {
        return vec![kernel];
    }
    let planes = TensorType::new(DType::F32, [shared / 4]);
    kernel.argument("planes", &planes, Binding::Workspace(0));
    let threads = shared / 16;
    let mut split = KernelSource::new(
        format!("{}_weights", &kernel.name[4..]),
        Geometry::Blocks {
            grid: [threads.div_ceil(256), 1],
            block: 256,
            shared: 0,
        },
    );
    split.before = kernel.before.clone();
    split.functions = kernel.functions.clone();
    split.argument("w", &cx.inputs[weight], Binding::Read(weight));
    split.argument("planes", &planes, Binding::Workspace(0));
    split.line(format!(
        "  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= {threads}) return;
  const int f = i / 32 % FRAGMENTS, warp = i / 32 / FRAGMENTS % WARPS, rank = i / 32 / FRAGMENTS / WARPS;
  ((uint4*)planes)[i] = spk_fragment(w, rank, warp, f, i % 32);"
    ));
    vec![split, kernel]
}

/// The start of both kernels: the thread's place, shared memory, the weights.
fn prologue(tiling: &Tiling) -> String {
    let planes = if tiling.workspace() == 0 {
        "(const uint4*)nullptr"
    } else {
        "(const uint4*)planes"
    };
    format!(
        "  extern __shared__ __align__(128) unsigned char spk_memory[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned rank = spk_rank();
  const int first_row = blockIdx.x / CLUSTER * ROWS;
  const int own_row = threadIdx.x / COLUMNS, own_column = threadIdx.x % COLUMNS;
  const Index own_place = (first_row + own_row) * FEATURES + rank * COLUMNS + own_column;
  const Index own_word = (first_row + own_row) * ROW_WORDS + (rank * COLUMNS + own_column) / 32;
  spk_weights weights;
  spk_load_weights(weights, (uint4*)spk_memory, w, {planes}, rank, warp, lane);
  float* partial = (float*)(spk_memory + IN_SHARED * WARPS * {});",
        tiling::FRAGMENT
    )
}

/// How a thread keeps the parameters of its neurons: the index of a neuron's, and the code that loads them. Where
/// all neurons of a column have the same ones, they are kept once for each column.
fn params(r: &Recurrence, cx: &LoweringContext<'_>) -> (&'static str, String) {
    let of_column = |ty: &TensorType| match ty.shape.split_last() {
        Some((_, others)) => others.iter().all(|n| *n == 1),
        None => true,
    };
    let params = cx
        .ports()
        .operands_that(&|port| matches!(port, Port::Param(_)));
    let shared = params.iter().all(|at| of_column(&cx.inputs[*at]));
    let (index, guard) = match shared {
        true => ("turn", "if (group == 0) "),
        false => ("e", ""),
    };
    let load = |k| {
        format!(
            "      {guard}p[{index}][{k}] = {};\n",
            start(cx, Port::Param(k))
        )
    };
    (index, (0..r.params.len()).map(load).collect())
}

/// Stores a value of each neuron, if the result is wanted.
fn store(cx: &LoweringContext<'_>, port: Port, value: &str) -> String {
    let to = cx.ports().writes(port);
    match cx.wanted[to] {
        true => format!("if (real) spk_set(y{to}[n], {value});\n"),
        false => String::new(),
    }
}

/// The loop over a thread's neurons. `real` says whether there is one, `n` is its place in a step, which
/// is `shift` behind the thread's first: a constant, so that an address is computed once a step.
fn each_neuron(tiling: &Tiling, body: &str) -> String {
    let all = Part {
        index: 0,
        first_row: 0,
        rows: tiling.rows,
    };
    each_neuron_of(tiling, all, body)
}

/// The same for the neurons of a part of the tile.
fn each_neuron_of(tiling: &Tiling, part: Part, body: &str) -> String {
    let (columns, threads) = (tiling.columns, tiling.threads());
    let (rows, turns) = (tiling.row_step(), columns.div_ceil(threads));
    let conditions = [
        (!tiling.batch.is_multiple_of(tiling.rows))
            .then(|| format!("first_row + row < {}", tiling.batch)),
        (tiling.cluster * columns != tiling.features)
            .then(|| "(int)rank * COLUMNS + column < FEATURES".to_string()),
    ];
    let conditions: Vec<String> = conditions.into_iter().flatten().collect();
    let real = match conditions.is_empty() {
        true => "true".to_string(),
        false => conditions.join(" && "),
    };
    format!(
        "    #pragma unroll
    for (int e = {start}; e < {end}; ++e) {{
      const int turn = e % {turns}, group = e / {turns};
      const int row = own_row + group * {rows}, column = own_column + turn * {threads};
      const int shift = group * {rows} * FEATURES + turn * {threads};
      const int word_shift = group * {rows} * ROW_WORDS + turn * {threads} / 32;
      const bool real = {real};
      const Index n = real ? own_place + shift : 0u;
      const int j = 0;
{body}    }}\n",
        start = part.first_row / rows * turns,
        end = (part.first_row + part.rows) / rows * turns,
    )
}

/// The geometry of both kernels.
fn geometry(tiling: &Tiling) -> Geometry {
    Geometry::Blocks {
        grid: [tiling.clusters() * tiling.cluster, 1],
        block: tiling.threads(),
        shared: tiling.shared(),
    }
}
