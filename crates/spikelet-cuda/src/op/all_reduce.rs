//! Sums over ranks: no device code, but a call of the vendor's library on another stream.

use super::{LoweredOp, LoweringContext};
use crate::gpu::Gpu;
use spikelet_graph::Result;
use spikelet_graph::op::AllReduceStart;

/// The sums, by the group that the GPU is in.
pub(super) fn work(
    op: &AllReduceStart,
    gpu: &Gpu,
    site: &LoweringContext<'_>,
) -> Result<Vec<LoweredOp>> {
    let group = gpu.group();
    let problem = match group {
        Some(group) if group.size() == op.ranks => {
            return Ok(vec![LoweredOp::AllReduceStart(group)]);
        }
        Some(group) => format!("this GPU is in a group of {}", group.size()),
        None => "this GPU is in no group".to_string(),
    };
    Err(site.refuse(
        &gpu.name,
        &format!(
            "the plan accumulates up over {} ranks, {problem}; trace it for as many ranks as there are, \
             and let the GPU join their group with `Cuda::join_group`",
            op.ranks
        ),
    ))
}
