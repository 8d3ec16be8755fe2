//! Sums over ranks, by NCCL on a separate stream.

use super::{CudaKernel, Lowered, LoweredOp, LoweringContext};
use crate::gpu::Gpu;
use crate::gpu::group::Group;
use spikelet_graph::Result;
use spikelet_graph::op::{AllReduceDone, AllReduceStart};
use std::sync::Arc;

impl CudaKernel for AllReduceStart {
    fn lower<'a>(&'a self, _: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        Ok(Lowered::new(0, || {
            Ok(vec![LoweredOp::AllReduceStart { ranks: self.ranks }])
        }))
    }
}

impl CudaKernel for AllReduceDone {
    fn lower<'a>(&'a self, _: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        Ok(Lowered::new(0, || Ok(vec![LoweredOp::AllReduceDone])))
    }
}

/// The GPU's group, for sums over so many ranks.
pub(crate) fn group(ranks: usize, gpu: &Gpu, cx: &LoweringContext<'_>) -> Result<Arc<Group>> {
    let problem = match gpu.group() {
        Some(group) if group.size() == ranks => return Ok(group),
        Some(group) => format!("this GPU is in a group of {}", group.size()),
        None => "this GPU has no group".to_string(),
    };
    Err(cx.refuse(&format!(
        "the plan all-reduces over {ranks} ranks, {problem}; trace it for the number of ranks, \
         and let the GPU join their group with `Cuda::join_group`"
    )))
}
