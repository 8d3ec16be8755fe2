//! Which values are the same at every time step.
//!
//! A sequence `[T, …]` repeats if it is one step `[1, …]` broadcast along axis 0, or computed from
//! such sequences by operations that treat every step alike. This is a property of the graph as it
//! is: [`crate::pass::hoist_time`] makes use of it, and [`crate::Var::source_over_time`] asks for it
//! while a network is traced.

use crate::graph::{Graph, Node, ValueId};
use crate::op::{ConvPart, Op};

/// Whether the results of a node repeat over time, given which of its operands do.
pub(crate) fn repeats(graph: &Graph, node: &Node, operand: &dyn Fn(ValueId) -> bool) -> bool {
    let first = || node.inputs.first().is_some_and(|v| operand(*v));
    match &node.op {
        Op::Expand(_) => is_repetition(graph, node),
        Op::MatMul(op) => !op.transpose_a && graph.shape(node.inputs[0]).len() > 1 && first(),
        Op::Reshape(op) => first() && op.shape.first() == graph.shape(node.inputs[0]).first(),
        Op::Conv(_) | Op::Pool(_) | Op::Permute(_) => treats_steps_alike(graph, node) && first(),
        Op::Slice(op) => op.axis == 0 && first() && graph.shape(node.outputs[0])[0] != 1,
        Op::Map(op) => {
            let rank = op.shape.len();
            let mut has_time = node
                .inputs
                .iter()
                .filter(|v| graph.shape(**v).len() == rank);
            let repeated = has_time.clone().any(|v| operand(*v));
            repeated && has_time.all(|v| operand(*v) || graph.shape(*v).first() == Some(&1))
        }
        _ => false,
    }
}

/// Whether a node broadcasts one step along axis 0, and does nothing else.
fn is_repetition(graph: &Graph, node: &Node) -> bool {
    let (from, to) = (graph.shape(node.inputs[0]), graph.shape(node.outputs[0]));
    let only_time = from.len() == to.len() && !to.is_empty() && from[1..] == to[1..];
    only_time && from[0] == 1 && to[0] != 1
}

/// Whether axis 0 of the first operand is an axis 0 of the result that the operation does not mix.
fn treats_steps_alike(graph: &Graph, node: &Node) -> bool {
    let rank = graph.shape(node.inputs[0]).len();
    match &node.op {
        Op::Conv(op) => op.part == ConvPart::Forward && rank > op.axes() + 2,
        Op::Pool(op) => rank > op.windows.len() + 2,
        Op::Permute(op) => op.order.first() == Some(&0),
        _ => false,
    }
}

/// The repeated values of a graph that grows: each node is looked at once.
#[derive(Default)]
pub(crate) struct RepeatedValues {
    repeated: Vec<bool>,
    /// The number of nodes that were looked at.
    nodes: usize,
}

impl RepeatedValues {
    /// Looks at the nodes that were added since the last time. The earlier ones must be the same.
    pub(crate) fn update(&mut self, graph: &Graph) {
        self.repeated.resize(graph.values(), false);
        for node in &graph.nodes[self.nodes.min(graph.nodes.len())..] {
            if repeats(graph, node, &|v| self.repeated[v.index()]) {
                for value in &node.outputs {
                    self.repeated[value.index()] = true;
                }
            }
        }
        self.nodes = graph.nodes.len();
    }

    /// Whether the value is the same at every time step.
    pub(crate) fn contains(&self, value: ValueId) -> bool {
        self.repeated
            .get(value.index())
            .is_some_and(|repeated| *repeated)
    }
}
