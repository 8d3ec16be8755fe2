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

mod in_place_updates;
mod scheduling_policy;
mod spike_storage;
mod workspace_query;

pub use in_place_updates::InPlaceUpdates;
pub use scheduling_policy::SchedulingPolicy;
pub use spike_storage::SpikeStorage;
pub use workspace_query::WorkspaceQuery;

use crate::error::Result;
use crate::graph::{Graph, Node};

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
