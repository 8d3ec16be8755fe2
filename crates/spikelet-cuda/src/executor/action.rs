//! What the stream runs for a plan, one after the other.

use crate::dnn::ConvCall;
use crate::error::Doing;
use crate::gemm::GemmCall;
use crate::gpu::Gpu;
use crate::group::{Group, Sums};
use crate::launch::Launch;
use cudarc::driver::{CudaEvent, result};
use spikelet_graph::Result;
use std::sync::Arc;

/// Something that the stream runs.
pub(super) enum Action {
    Launch(Launch),
    Gemm {
        call: GemmCall,
        a: u64,
        b: u64,
        y: u64,
        workspace: u64,
    },
    Conv {
        call: ConvCall,
        a: u64,
        b: u64,
        y: u64,
        workspace: u64,
    },
    Clear {
        to: u64,
        bytes: usize,
    },
    Copy {
        from: u64,
        to: u64,
        bytes: usize,
    },
    /// Sums over ranks, beside what follows.
    AllReduceStart {
        group: Arc<Group>,
        sums: Sums,
    },
    /// What follows waits for sums.
    AllReduceDone(Arc<CudaEvent>),
}

/// An action and the plan's kernel that it belongs to.
pub(super) struct Step {
    pub(super) action: Action,
    pub(super) kernel: usize,
}

/// Starts one action.
///
/// # Safety
/// Its addresses must lead to memory of the sizes that it was planned for; those of sums over ranks
/// to memory that nothing else touches before they arrive.
pub(super) unsafe fn start(gpu: &Gpu, action: &Action) -> Result<()> {
    let stream = gpu.stream.cu_stream();
    // SAFETY: the caller's promise.
    unsafe {
        match action {
            Action::Launch(launch) => launch.run(gpu),
            Action::Gemm {
                call,
                a,
                b,
                y,
                workspace,
            } => call.run(gpu, *a, *b, *y, *workspace),
            Action::Conv {
                call,
                a,
                b,
                y,
                workspace,
            } => call.run(gpu, *a, *b, *y, *workspace),
            Action::Clear { to, bytes } => {
                result::memset_d8_async(*to, 0, *bytes, stream).doing(&gpu.name, "clearing memory")
            }
            Action::Copy { from, to, bytes } => {
                result::memcpy_dtod_async(*to, *from, *bytes, stream)
                    .doing(&gpu.name, "copying a result")
            }
            Action::AllReduceStart { group, sums } => group.start(gpu, sums),
            Action::AllReduceDone(done) => Group::arrive(gpu, done),
        }
    }
}
