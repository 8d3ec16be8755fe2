//! The planner's queries about a device, one trait for each of its four jobs.
//!
//! | trait | asked by |
//! |---|---|
//! | [`WorkspaceQuery`] | liveness, for the scratch memory of kernels |
//! | [`SpikeStorage`] | `pass::bit_pack_spikes` |
//! | [`SchedulingPolicy`] | `pass::channel_sums`, `checkpoint`, `time_chunking` |
//! | [`InPlaceUpdates`] | liveness, for results in the memory of operands |
//!
//! A pass takes only the trait that it needs. [`Target`] is all four.

use crate::error::Result;
use crate::graph::{Graph, Node};
use crate::op::Op;
use crate::types::TensorType;

/// How much scratch memory a device's kernels need.
pub trait WorkspaceQuery {
    /// The bytes of scratch memory that a node needs while it runs. They are part of the arena.
    fn workspace(&self, graph: &Graph, node: &Node) -> usize;
}

/// Which kernels of a device read and write spikes as bits; by default none.
pub trait SpikeStorage {
    /// Whether an operation on operands of these types can read its operand number `operand` as bits.
    fn reads_bits(&self, _op: &Op, _inputs: &[TensorType], _operand: usize) -> bool {
        false
    }

    /// Whether an operation on operands of these types can write its result number `result` as bits.
    fn writes_bits(&self, _op: &Op, _inputs: &[TensorType], _result: usize) -> bool {
        false
    }
}

/// Which forms of an operation are fastest on a device.
pub trait SchedulingPolicy {
    /// Whether the backward scan `node` can sum the gradients of its parameters over all axes except
    /// the last.
    fn sums_channels(&self, _graph: &Graph, _node: &Node) -> bool {
        false
    }

    /// The largest number of elements of a time chunk of a long sequence: enough to use the whole
    /// device.
    fn chunk_elements(&self) -> usize {
        1 << 26
    }

    /// Whether the steps of a loop are written out ([`pass::unroll`](crate::pass::unroll)): so many steps of so many
    /// operations each, whose carried values and pieces of sequences and stacked results have so many bytes. A device
    /// gains by that whose loops copy them.
    fn unrolls(&self, _steps: usize, _operations: usize, _bytes: usize) -> bool {
        false
    }

    /// After how many steps a neuron scan should store its states for its backward pass `node`.
    /// `None`, or at least the number of steps: store none; the backward pass recomputes all states
    /// from the initial ones.
    fn scan_checkpoint(&self, _graph: &Graph, _node: &Node) -> Option<usize> {
        None
    }

    /// The number of time chunks in which two scans with feedback, of which `second` needs what `first` computes,
    /// run faster side by side: one on a chunk while the other runs on the next one, each on half of the device.
    /// `None`: they run one after the other.
    fn overlap_chunks(&self, _graph: &Graph, _first: &Node, _second: &Node) -> Option<usize> {
        None
    }
}

/// Which kernels of a device may overwrite their operands; by default none.
pub trait InPlaceUpdates {
    /// Whether backward scans, and gradients of max pooling over blocks, read each element of their
    /// operands before they write the gradient in its place.
    fn overwrites_sequences(&self) -> bool {
        false
    }
}

/// A device that plans are computed for.
///
/// ```
/// use spikelet_graph::{Graph, InPlaceUpdates, Node, SchedulingPolicy, SpikeStorage, Target};
/// use spikelet_graph::{DType, Plan, Tracer, WorkspaceQuery};
///
/// /// A device whose kernels need no scratch memory and read no bits.
/// struct Simple;
///
/// impl WorkspaceQuery for Simple {
///     fn workspace(&self, _: &Graph, _: &Node) -> usize {
///         0
///     }
/// }
/// impl SpikeStorage for Simple {}
/// impl SchedulingPolicy for Simple {}
/// impl InPlaceUpdates for Simple {}
/// impl Target for Simple {}
///
/// let tracer = Tracer::new(DType::F32);
/// let x = tracer.input("x", DType::F32, [64, 10]);
/// tracer.output("y", &x.mean(&[1]));
/// assert_eq!(Plan::new(tracer.finish()?, &Simple).kernels.len(), 2);
/// # Ok::<(), spikelet_graph::Error>(())
/// ```
pub trait Target: WorkspaceQuery + SpikeStorage + SchedulingPolicy + InPlaceUpdates {
    /// Rejects a node that the device has no kernel for, such as one of an unsupported element type
    /// or of too many elements. See [`Plan::check_target`](crate::Plan::check_target).
    ///
    /// # Errors
    /// Names the node and its layer.
    fn check_node(&self, _graph: &Graph, _node: &Node) -> Result<()> {
        Ok(())
    }
}
