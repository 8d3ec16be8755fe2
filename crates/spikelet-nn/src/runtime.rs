//! Compiled programs and the tensors that outlive them.

mod input;
mod program;
mod trace_plan;
mod var_store;

use spikelet_core::Result;
use spikelet_graph::op::HostTensor;
use spikelet_graph::{Backend, Buffer, Tensor};

pub use program::{Planned, Program};
pub use trace_plan::TracePlan;
pub use var_store::VarStore;

/// A view of the elements of a host tensor, for [`Program::set`].
pub fn host(tensor: &Tensor) -> HostTensor<'_> {
    tensor.into()
}

/// Copies a buffer to the host.
///
/// # Errors
/// When the device fails.
pub fn download(backend: &dyn Backend, buffer: &Buffer) -> Result<Tensor> {
    Ok(backend.fetch(&[buffer])?.wait()?.swap_remove(0))
}
