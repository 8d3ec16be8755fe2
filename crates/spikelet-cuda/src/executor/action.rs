//! The actions of a plan on the stream, in order.

use crate::dnn::ConvCall;
use crate::error::Context;
use crate::gemm::GemmCall;
use crate::gpu::Gpu;
use crate::gpu::group::{AllReduceBatch, Group};
use crate::launch::Launch;
use cudarc::driver::{CudaEvent, result};
use spikelet_graph::Result;
use std::sync::Arc;

/// An action on the stream.
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
    /// Sums over ranks, concurrent with the next actions.
    AllReduceStart {
        group: Arc<Group>,
        sums: AllReduceBatch,
    },
    /// Makes the next actions wait for sums.
    AllReduceDone(Arc<CudaEvent>),
    /// The same actions several times.
    Repeat {
        body: Vec<Step>,
        count: usize,
    },
}

/// An action and the index of the plan's kernel.
pub(super) struct Step {
    pub(super) action: Action,
    pub(super) kernel: usize,
}

/// Starts one action.
///
/// # Safety
/// Its addresses must be those of memory of the planned sizes; nothing else may access the memory of
/// sums over ranks before they are done.
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
            Action::Clear { to, bytes } => result::memset_d8_async(*to, 0, *bytes, stream)
                .context(&gpu.name, "clearing memory"),
            Action::Copy { from, to, bytes } => {
                result::memcpy_dtod_async(*to, *from, *bytes, stream)
                    .context(&gpu.name, "copying a result")
            }
            Action::AllReduceStart { group, sums } => group.start(gpu, sums),
            Action::AllReduceDone(done) => Group::arrive(gpu, done),
            Action::Repeat { body, count } => {
                for _ in 0..*count {
                    for step in body {
                        start(gpu, &step.action)?;
                    }
                }
                Ok(())
            }
        }
    }
}
