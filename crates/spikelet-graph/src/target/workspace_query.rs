//! The workspace of kernels.

use crate::graph::{Graph, Node};

/// How much scratch memory a device's kernels need.
pub trait WorkspaceQuery {
    /// The bytes of scratch memory that a node needs while it runs. They are part of the arena.
    fn workspace(&self, graph: &Graph, node: &Node) -> usize;
}
