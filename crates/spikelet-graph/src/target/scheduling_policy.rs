//! Fusion, checkpoints, chunk sizes, and what runs at the same time.

use crate::graph::{Graph, Node};

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

    /// The most operations of a loop whose steps are written out ([`pass::unroll`](crate::pass::unroll)): a device
    /// whose kernels cannot read pieces of sequences in place gains by that. 0: loops stay.
    fn unrolled_nodes(&self) -> usize {
        0
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
