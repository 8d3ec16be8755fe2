//! Sums over ranks, by NCCL on a separate stream.

use super::{LoweredOp, LoweringContext};
use crate::gpu::Gpu;
use spikelet_graph::Result;
use spikelet_graph::op::AllReduceStart;

/// The sums over the GPU's group.
pub(super) fn lower(
    op: &AllReduceStart,
    gpu: &Gpu,
    cx: &LoweringContext<'_>,
) -> Result<Vec<LoweredOp>> {
    let group = gpu.group();
    let problem = match group {
        Some(group) if group.size() == op.ranks => {
            return Ok(vec![LoweredOp::AllReduceStart(group)]);
        }
        Some(group) => format!("this GPU is in a group of {}", group.size()),
        None => "this GPU has no group".to_string(),
    };
    Err(cx.refuse(
        &gpu.name,
        &format!(
            "the plan all-reduces over {} ranks, {problem}; trace it for the number of ranks, \
             and let the GPU join their group with `Cuda::join_group`",
            op.ranks
        ),
    ))
}
