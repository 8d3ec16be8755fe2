//! Devices that exist on paper.

use spikelet_graph::op::Op;
use spikelet_graph::{
    Graph, InPlaceUpdates, Node, SchedulingPolicy, SpikeStorage, Target, ValueId, WorkspaceQuery,
};

/// Knows nothing of bits.
pub struct Plain;

impl WorkspaceQuery for Plain {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for Plain {}

impl SchedulingPolicy for Plain {}

impl InPlaceUpdates for Plain {}

impl Target for Plain {}

/// Matrix products read bits on their left side and need scratch memory; everything writes bits.
pub struct Binary;

impl WorkspaceQuery for Binary {
    fn workspace(&self, _: &Graph, node: &Node) -> usize {
        if matches!(node.op, Op::MatMul(_)) {
            1000
        } else {
            0
        }
    }
}

impl SpikeStorage for Binary {
    fn reads_bits(&self, _: &Graph, node: &Node, operand: usize) -> bool {
        matches!(node.op, Op::MatMul(_)) && operand == 0
    }

    fn writes_bits(&self, _: &Graph, _: &Node, _: ValueId) -> bool {
        true
    }
}

impl SchedulingPolicy for Binary {}

impl InPlaceUpdates for Binary {}

impl Target for Binary {}

/// Wants states of neuron scans checkpoint every so many steps.
pub struct Keeps(pub usize);

impl WorkspaceQuery for Keeps {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for Keeps {}

impl SchedulingPolicy for Keeps {
    fn scan_checkpoint(&self, _: &Graph, node: &Node) -> Option<usize> {
        assert!(matches!(node.op, Op::ScanGrad(_)));
        Some(self.0)
    }
}

impl InPlaceUpdates for Keeps {}

impl Target for Keeps {}

/// Sums gradients by channel wherever it is asked.
pub struct Sums;

impl WorkspaceQuery for Sums {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for Sums {}

impl SchedulingPolicy for Sums {
    fn sums_channels(&self, _: &Graph, node: &Node) -> bool {
        assert!(matches!(node.op, Op::ScanGrad(_)));
        true
    }
}

impl InPlaceUpdates for Sums {}

impl Target for Sums {}

/// Divides long sequences into time chunks of at most so many elements.
pub struct Parts(pub usize);

impl WorkspaceQuery for Parts {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for Parts {}

impl SchedulingPolicy for Parts {
    fn chunk_elements(&self) -> usize {
        self.0
    }
}

impl InPlaceUpdates for Parts {}

impl Target for Parts {}

/// As [`Parts`], with scratch memory of the size of what a convolution reads.
pub struct PartsWithWorkspace(pub usize);

impl WorkspaceQuery for PartsWithWorkspace {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        match node.op {
            Op::Conv(_) => graph.ty(node.inputs[0]).bytes(),
            _ => 0,
        }
    }
}

impl SpikeStorage for PartsWithWorkspace {}

impl SchedulingPolicy for PartsWithWorkspace {
    fn chunk_elements(&self) -> usize {
        self.0
    }
}

impl InPlaceUpdates for PartsWithWorkspace {}

impl Target for PartsWithWorkspace {}
