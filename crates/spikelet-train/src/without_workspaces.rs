//! A planning target without workspaces.

use spikelet_graph::op::Op;
use spikelet_graph::{
    Graph, InPlaceUpdates, Node, SchedulingPolicy, SpikeStorage, Target, TensorType, WorkspaceQuery,
};

/// A device whose kernels need no workspaces.
pub(super) struct WithoutWorkspaces<'a>(pub(super) &'a dyn Target);

impl WorkspaceQuery for WithoutWorkspaces<'_> {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for WithoutWorkspaces<'_> {
    fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
        self.0.reads_bits(op, inputs, operand)
    }

    fn writes_bits(&self, op: &Op, inputs: &[TensorType], result: usize) -> bool {
        self.0.writes_bits(op, inputs, result)
    }
}

impl SchedulingPolicy for WithoutWorkspaces<'_> {
    fn sums_channels(&self, graph: &Graph, node: &Node) -> bool {
        self.0.sums_channels(graph, node)
    }

    fn chunk_elements(&self) -> usize {
        self.0.chunk_elements()
    }

    fn scan_checkpoint(&self, graph: &Graph, node: &Node) -> Option<usize> {
        self.0.scan_checkpoint(graph, node)
    }
}

impl InPlaceUpdates for WithoutWorkspaces<'_> {
    fn overwrites_sequences(&self) -> bool {
        self.0.overwrites_sequences()
    }
}

impl Target for WithoutWorkspaces<'_> {
    fn check_node(&self, graph: &Graph, node: &Node) -> spikelet_graph::Result<()> {
        self.0.check_node(graph, node)
    }
}
