//! Which values are the same at every time step.
//!
//! A sequence `[T, …]` repeats if it is one step `[1, …]` broadcast along axis 0, or computed from
//! such sequences by operations that treat every step alike. This is a property of the graph as it
//! is: [`crate::pass::hoist_time`] makes use of it, and [`crate::Var::source_over_time`] asks for it
//! while a network is traced.

use crate::graph::{Graph, Node, ValueId};
use crate::op::{Expand, Op, OpKind, Operation, Slice};
use crate::semantics::{Access, Class, Role, Semantics};

/// Whether the results of a node repeat over time, given which of its operands do.
pub(crate) fn repeats(graph: &Graph, node: &Node, operand: &dyn Fn(ValueId) -> bool) -> bool {
    if is_repetition(graph, node) {
        return true;
    }
    if !node.inputs.iter().any(|v| operand(*v)) {
        return false;
    }
    if Slice::of(&node.op).is_some_and(|slice| slice.axis == 0) {
        return graph.shape(node.outputs[0])[0] != 1;
    }
    let s = graph.semantics(node);
    let Some(time) = steps_axis(&node.op, &s) else {
        return false;
    };
    let is_one_step = |v: &ValueId| graph.shape(*v)[0] == s.axes[time].length;
    let mut along = 0;
    let alike = s.operands.iter().zip(&node.inputs).all(|(access, v)| {
        along += usize::from(access.place(time).is_some());
        access
            .place(time)
            .is_none_or(|at| at == 0 && operand(*v) && is_one_step(v))
    });
    alike && along > 0 && node.outputs.iter().all(is_one_step)
}

/// The axis 0 of all results, if each of its iterations is computed alike from the same iteration of the operands.
pub(crate) fn steps_axis(op: &Op, s: &Semantics) -> Option<usize> {
    let first = |result: &Access| result.0.first().copied().flatten();
    let time = first(s.results.first()?)?;
    let alone = matches!(
        op.class(),
        Class::Elementwise | Class::Movement | Class::Contraction | Class::Reduction
    );
    let all = s.results.iter().all(|result| first(result) == Some(time));
    (alone && all && s.axes[time].role == Role::Parallel).then_some(time)
}

/// Whether a node broadcasts one step along axis 0, and does nothing else.
pub(crate) fn is_repetition(graph: &Graph, node: &Node) -> bool {
    if Expand::of(&node.op).is_none() {
        return false;
    }
    let (from, to) = (graph.shape(node.inputs[0]), graph.shape(node.outputs[0]));
    let only_time = from.len() == to.len() && !to.is_empty() && from[1..] == to[1..];
    only_time && from[0] == 1 && to[0] != 1
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
