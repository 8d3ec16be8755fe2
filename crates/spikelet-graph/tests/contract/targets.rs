//! Planning targets with single abilities.

use spikelet_graph::op::Op;
use spikelet_graph::{
    Graph, InPlaceUpdates, Node, SchedulingPolicy, SpikeStorage, Target, TensorType, WorkspaceQuery,
};

/// Reads and writes no bits.
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
    fn reads_bits(&self, op: &Op, _: &[TensorType], operand: usize) -> bool {
        matches!(op, Op::MatMul(_)) && operand == 0
    }

    fn writes_bits(&self, _: &Op, _: &[TensorType], _: usize) -> bool {
        true
    }
}

impl SchedulingPolicy for Binary {}

impl InPlaceUpdates for Binary {}

impl Target for Binary {}

/// Requests checkpoints of neuron scans every so many steps.
pub struct Checkpoints(pub usize);

impl WorkspaceQuery for Checkpoints {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for Checkpoints {}

impl SchedulingPolicy for Checkpoints {
    fn scan_checkpoint(&self, _: &Graph, node: &Node) -> Option<usize> {
        assert!(matches!(node.op, Op::ScanGrad(_)));
        Some(self.0)
    }
}

impl InPlaceUpdates for Checkpoints {}

impl Target for Checkpoints {}

/// Sums gradients by channel in every backward scan.
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
pub struct Chunks(pub usize);

impl WorkspaceQuery for Chunks {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for Chunks {}

impl SchedulingPolicy for Chunks {
    fn chunk_elements(&self) -> usize {
        self.0
    }
}

impl InPlaceUpdates for Chunks {}

impl Target for Chunks {}

/// Overlaps every pair of recurrent layers in so many chunks.
pub struct Overlaps(pub usize);

impl WorkspaceQuery for Overlaps {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for Overlaps {}

impl SchedulingPolicy for Overlaps {
    fn overlap_chunks(&self, _: &Graph, _: &Node, _: &Node) -> Option<usize> {
        Some(self.0)
    }
}

impl InPlaceUpdates for Overlaps {}

impl Target for Overlaps {}

/// As [`Chunks`], with scratch memory of the size of what a convolution reads.
pub struct ChunksWithWorkspace(pub usize);

impl WorkspaceQuery for ChunksWithWorkspace {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        match node.op {
            Op::Conv(_) => graph.ty(node.inputs[0]).bytes(),
            _ => 0,
        }
    }
}

impl SpikeStorage for ChunksWithWorkspace {}

impl SchedulingPolicy for ChunksWithWorkspace {
    fn chunk_elements(&self) -> usize {
        self.0
    }
}

impl InPlaceUpdates for ChunksWithWorkspace {}

impl Target for ChunksWithWorkspace {}
