//! Neuron scans with feedback: one kernel for all time steps, forward and backward.

pub(super) mod backward;
pub(super) mod forward;
mod overlap;

pub(crate) use overlap::overlap_chunks;

use super::cluster::{Demand, Direction, Part, Tiling};
use super::layout::Layout;
use super::{arguments, lowered};
use crate::gpu::Properties;
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use crate::op::{Lowered, LoweringContext};
use spikelet_expr::CompileError;
use spikelet_graph::op::{MatmulPrecision, Op, Port};
use spikelet_graph::{DType, DeviceShare, TensorType};

const NO_TILE: &str = "a tile of its neurons does not fit in a multiprocessor's shared memory; use fewer neurons, or bf16";

/// The kernels of a scan or its backward pass: `write` writes what follows the weights.
pub(super) fn lower<'a>(
    cx: &'a LoweringContext<'_>,
    kind: &'static str,
    write: impl FnOnce(&mut KernelSource, &Layout, &Tiling) -> Result<(), CompileError> + 'a,
) -> spikelet_graph::Result<Lowered<'a>> {
    let tiling = tiling(&cx.node.op, (cx.gpu, cx.node.notes.share), &cx.inputs);
    let tiling = tiling.ok_or_else(|| cx.refuse(NO_TILE))?;
    Ok(lowered(cx, tiling.workspace(), move || {
        let layout = Layout::cluster(tiling, tiling.whole());
        let name = &cx.ports().scan().recurrence.name;
        let mut kernel = layout.kernel(format!("recurrent_{name}_{kind}"), None);
        kernel.before = product_text(&tiling, cx);
        arguments(&mut kernel, cx, |_| false);
        write(&mut kernel, &layout, &tiling)?;
        kernel.line("spk_end();");
        Ok(with_weights(kernel, &tiling, cx))
    }))
}

fn tiling(
    op: &Op,
    (gpu, share): (&Properties, DeviceShare),
    inputs: &[TensorType],
) -> Option<Tiling> {
    let ports = op.ports()?;
    let scan = ports.scan();
    let r = &scan.recurrence;
    let (sequences, states, params) = (r.inputs.len(), r.states.len(), r.params.len());
    let weight = &inputs[ports.reads(Port::Weight)];
    let planes = planes(weight, scan.feedback.as_ref()?.precision);
    let (direction, planes, registers) = match op {
        Op::Scan(_) => (Direction::Forward, planes, 2 + sequences + states + params),
        // The products of the first two terms are precise to 2⁻¹⁶, and sums of many cancel.
        _ => {
            let registers = 4 + sequences + 2 * states + 2 * params;
            (Direction::Backward, planes.min(2), registers)
        }
    };
    let (batch, features) = Demand::sizes(inputs);
    let demand = Demand {
        direction,
        batch,
        features,
        planes,
        registers,
        share,
    };
    Tiling::new(gpu, demand)
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
fn product_text(tiling: &Tiling, cx: &LoweringContext<'_>) -> String {
    let (at, product) = match &cx.node.op {
        Op::Scan(_) => (
            "own * FEATURES + other",
            include_str!("../../../text/recurrent_spikes.cuh"),
        ),
        _ => (
            "other * FEATURES + own",
            include_str!("../../../text/recurrent_gradients.cuh"),
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
        element(cx.inputs[cx.ports().reads(Port::Weight)].dtype),
        include_str!("../../../text/recurrent.cuh"),
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

/// The parts of a tile with their layouts.
fn layouts(tiling: &Tiling) -> Vec<(Part, Layout)> {
    let parts = tiling.parts().into_iter();
    parts
        .map(|part| (part, Layout::cluster(*tiling, part)))
        .collect()
}
