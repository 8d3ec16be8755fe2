//! A device that divides time as a test asks for.

use spikelet::graph::op::{HostTensor, HostTensorMut, Op};
use spikelet::graph::{
    Backend, Buffer, Determinism, Executor, Graph, InPlaceUpdates, Node, Plan, Result,
    SchedulingPolicy, SpikeStorage, Target, TensorType, WorkspaceQuery,
};
use std::sync::Arc;

/// A device on which sequences of more than so many elements are divided into time chunks, and two recurrent layers
/// overlap in so many chunks.
pub struct Dividing {
    pub backend: Arc<dyn Backend>,
    pub elements: usize,
    pub overlap: Option<usize>,
}

impl WorkspaceQuery for Dividing {
    fn workspace(&self, graph: &Graph, node: &Node) -> usize {
        self.backend.workspace(graph, node)
    }
}

impl SpikeStorage for Dividing {
    fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
        self.backend.reads_bits(op, inputs, operand)
    }

    fn writes_bits(&self, op: &Op, inputs: &[TensorType], result: usize) -> bool {
        self.backend.writes_bits(op, inputs, result)
    }
}

impl SchedulingPolicy for Dividing {
    fn sums_channels(&self, graph: &Graph, node: &Node) -> bool {
        self.backend.sums_channels(graph, node)
    }

    fn scan_checkpoint(&self, graph: &Graph, node: &Node) -> Option<usize> {
        self.backend.scan_checkpoint(graph, node)
    }

    fn chunk_elements(&self) -> usize {
        self.elements
    }

    fn overlap_chunks(&self, _: &Graph, _: &Node, _: &Node) -> Option<usize> {
        self.overlap
    }
}

impl InPlaceUpdates for Dividing {
    fn overwrites_sequences(&self) -> bool {
        self.backend.overwrites_sequences()
    }
}

impl Target for Dividing {}

impl Backend for Dividing {
    fn name(&self) -> String {
        self.backend.name()
    }

    fn determinism(&self) -> Determinism {
        self.backend.determinism()
    }

    fn allocate(&self, ty: &TensorType) -> Result<Buffer> {
        self.backend.allocate(ty)
    }

    fn upload(&self, to: &Buffer, values: HostTensor<'_>) -> Result<()> {
        self.backend.upload(to, values)
    }

    fn download(&self, from: &Buffer, values: HostTensorMut<'_>) -> Result<()> {
        self.backend.download(from, values)
    }

    fn load_into(
        &self,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
        arena: &Buffer,
    ) -> Result<Box<dyn Executor>> {
        self.backend.load_into(plan, inputs, outputs, arena)
    }
}
