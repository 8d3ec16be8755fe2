//! Sums over ranks: no device code, but a call of the vendor's library on another stream.

use super::{Site, Work};
use crate::gpu::Gpu;
use spikelet_graph::Result;
use spikelet_graph::op::AllReduce;

/// The sums, by the group that the GPU is in.
pub(super) fn work(op: &AllReduce, gpu: &Gpu, site: &Site<'_>) -> Result<Vec<Work>> {
    let group = gpu.group();
    let problem = match group {
        Some(group) if group.size() == op.ranks => return Ok(vec![Work::AllReduce(group)]),
        Some(group) => format!("this GPU is in a group of {}", group.size()),
        None => "this GPU is in no group".to_string(),
    };
    Err(site.refuse(
        &gpu.name,
        &format!(
            "the plan adds up over {} ranks, {problem}; trace it for as many ranks as there are, \
             and let the GPU join their group with `Cuda::join_group`",
            op.ranks
        ),
    ))
}
