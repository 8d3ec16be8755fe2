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
