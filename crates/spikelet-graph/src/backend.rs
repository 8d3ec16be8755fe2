//! What a device must offer to run plans.

use crate::error::Result;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{HostTensor, HostTensorMut};
use crate::plan::Plan;
use crate::types::TensorType;
use std::any::Any;
use std::sync::Arc;

/// What planning asks about a device.
pub trait Target {
    /// Scratch memory that a node needs while it runs, in bytes; part of the arena.
    fn workspace(&self, graph: &Graph, node: &Node) -> usize;

    /// Whether `node` can read its operand as bits.
    fn reads_bits(&self, graph: &Graph, node: &Node, operand: usize) -> bool;

    /// Whether `node` can write one of its results as bits.
    fn writes_bits(&self, graph: &Graph, node: &Node, value: ValueId) -> bool;

    /// After how many steps a neuron scan should keep its states for its backward pass `node`;
    /// `None`, or as many steps as there are: keep none, the backward pass computes all states
    /// again from the initial ones.
    fn scan_checkpoint(&self, _graph: &Graph, _node: &Node) -> Option<usize> {
        None
    }
}

/// Memory on a device that outlives a run: a parameter, a state, an input, an output.
#[derive(Clone)]
pub struct Buffer {
    /// Element type and shape.
    pub ty: TensorType,
    /// The device's own handle.
    pub handle: Arc<dyn Any + Send + Sync>,
}

/// A device: memory, and plans made ready to run.
///
/// Several executors may share buffers (training and evaluation share the parameters). They run
/// one after the other in the order in which they are called; a device may still be at work
/// when [`Executor::run`] returns, and [`Backend::download`] waits for it.
pub trait Backend: Target + Send + Sync {
    /// A short name: `cpu`, `cuda:0`.
    fn name(&self) -> String;

    /// Memory for one tensor, set to zero.
    ///
    /// # Errors
    /// When the device has not enough memory.
    fn allocate(&self, ty: &TensorType) -> Result<Buffer>;

    /// Copies host values into a buffer of the same element type and size.
    ///
    /// # Errors
    /// When type or size differ, or the buffer belongs to another backend.
    fn upload(&self, to: &Buffer, values: HostTensor<'_>) -> Result<()>;

    /// Waits for what was started and copies a buffer to the host.
    ///
    /// # Errors
    /// As [`Backend::upload`].
    fn download(&self, from: &Buffer, values: HostTensorMut<'_>) -> Result<()>;

    /// Makes a plan ready to run: arena allocated, kernels prepared. `inputs` are the buffers of
    /// the graph's inputs in order; `outputs` those of its outputs, `None` for one that updates
    /// an input in place.
    ///
    /// # Errors
    /// When memory is short, a buffer has another type than the plan, or the plan holds an
    /// operation that the device does not know.
    fn load(
        &self,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
    ) -> Result<Box<dyn Executor>>;
}

/// A plan with its memory on a device.
pub trait Executor {
    /// Runs the plan once.
    ///
    /// # Errors
    /// When the device fails.
    fn run(&mut self) -> Result<()>;

    /// The arena that is held, in bytes: equal to the plan's prediction.
    fn arena_bytes(&self) -> usize;

    /// Runs the plan once and returns the seconds that each kernel took, in the plan's order.
    ///
    /// # Errors
    /// When the device fails.
    fn profile(&mut self) -> Result<Vec<f64>>;
}
