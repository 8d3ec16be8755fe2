//! Devices that exist on paper.

use spikelet_graph::op::Op;
use spikelet_graph::{Graph, Node, Target, ValueId};

/// Knows nothing of bits.
pub struct Plain;

impl Target for Plain {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
    fn reads_bits(&self, _: &Graph, _: &Node, _: usize) -> bool {
        false
    }
    fn writes_bits(&self, _: &Graph, _: &Node, _: ValueId) -> bool {
        false
    }
}

/// Matrix products read bits on their left side and need scratch memory; everything writes bits.
pub struct Binary;

impl Target for Binary {
    fn workspace(&self, _: &Graph, node: &Node) -> usize {
        if matches!(node.op, Op::MatMul(_)) {
            1000
        } else {
            0
        }
    }
    fn reads_bits(&self, _: &Graph, node: &Node, operand: usize) -> bool {
        matches!(node.op, Op::MatMul(_)) && operand == 0
    }
    fn writes_bits(&self, _: &Graph, _: &Node, _: ValueId) -> bool {
        true
    }
}

/// Wants states of neuron scans checkpoint every so many steps.
pub struct Keeps(pub usize);

impl Target for Keeps {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
    fn reads_bits(&self, _: &Graph, _: &Node, _: usize) -> bool {
        false
    }
    fn writes_bits(&self, _: &Graph, _: &Node, _: ValueId) -> bool {
        false
    }
    fn scan_checkpoint(&self, _: &Graph, node: &Node) -> Option<usize> {
        assert!(matches!(node.op, Op::ScanGrad(_)));
        Some(self.0)
    }
}

/// Sums gradients by channel wherever it is asked.
pub struct Sums;

impl Target for Sums {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
    fn reads_bits(&self, _: &Graph, _: &Node, _: usize) -> bool {
        false
    }
    fn writes_bits(&self, _: &Graph, _: &Node, _: ValueId) -> bool {
        false
    }
    fn sums_channels(&self, _: &Graph, node: &Node) -> bool {
        assert!(matches!(node.op, Op::ScanGrad(_)));
        true
    }
}

/// Divides long sequences into time chunks of at most so many elements.
pub struct Parts(pub usize);

impl Target for Parts {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
    fn reads_bits(&self, _: &Graph, _: &Node, _: usize) -> bool {
        false
    }
    fn writes_bits(&self, _: &Graph, _: &Node, _: ValueId) -> bool {
        false
    }
    fn chunk_elements(&self) -> usize {
        self.0
    }
}

/// As [`Parts`], with scratch memory of the size of what a convolution reads.
pub struct PartsWithWorkspace(pub usize);

impl Target for PartsWithWorkspace {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        match node.op {
            Op::Conv(_) => graph.ty(node.inputs[0]).bytes(),
            _ => 0,
        }
    }
    fn reads_bits(&self, _: &Graph, _: &Node, _: usize) -> bool {
        false
    }
    fn writes_bits(&self, _: &Graph, _: &Node, _: ValueId) -> bool {
        false
    }
    fn chunk_elements(&self) -> usize {
        self.0
    }
}
