//! The predicted time of a node.

use crate::graph::{Graph, Node, ValueId};
use crate::op::Operation;
use crate::types::TensorType;

/// Floating-point operations in the time in which a device moves one byte.
const FLOPS_PER_BYTE: u64 = 150;

/// See [`Rewriter::cost`].
pub(crate) fn cost(graph: &Graph, node: &Node) -> u64 {
    if node.op.is_view() {
        return 0;
    }
    let types = |values: &[ValueId]| -> Vec<TensorType> {
        values.iter().map(|v| graph.ty(*v).clone()).collect()
    };
    let (inputs, outputs) = (types(&node.inputs), types(&node.outputs));
    let sizes = inputs.iter().chain(&outputs).map(TensorType::bytes);
    let moved = sizes.fold(0, usize::saturating_add);
    (node.op.flops(&inputs, &outputs) / FLOPS_PER_BYTE).max(moved as u64)
}
