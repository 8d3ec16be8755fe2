//! Keeps repetitions over time virtual, and computes values that are constant over time once.
//!
//! ```text
//! %2 = expand[T, N, 784](%1)               %4 = matmul[a·bᵀ](%1, %w)     once, not T times
//! %3 = matmul[a·bᵀ](%2, %w)         →      %3 = expand[T, N, 196](%4)
//! %5 = scan[lif](%3, …)                    %5 = scan[lif](%4, …)         reads [1, N, 196]
//! ```
//!
//! Allowed because the operations that are moved treat every time step alike, and because maps,
//! draws and scans broadcast their operands. The repetition itself becomes dead code unless a
//! reader needs it in memory.
//!
//! One result has other bits than without this pass: a sum over T equal steps becomes the step
//! times T, which is rounded once, where adding rounds T − 1 times.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Expand, Map, Op, Port, Ports, Reduce, Reduction, Reshape};
use crate::rewrite::{NodeId, Rewriter};
use crate::time_invariance;
use std::collections::HashMap;

/// Moves repetitions over time towards the outputs.
pub fn run(graph: &mut Graph) -> Report {
    let mut sources = Sources(HashMap::new());
    let mut changes = 0;
    let mut rewriter = Rewriter::new(graph);
    rewriter.apply(|graph, k| {
        changes += sources.visit(graph, k)?;
        Some(())
    });
    Report {
        pass: "constant over time",
        changes,
        summary: format!("{changes} operations run once instead of at every step"),
    }
}

/// The one step `[1, …]` that each repeated value repeats along axis 0.
struct Sources(HashMap<ValueId, ValueId>);

impl Sources {
    fn of(&self, value: ValueId) -> Option<ValueId> {
        self.0.get(&value).copied()
    }

    /// The source of the first operand.
    fn of_first(&self, node: &Node) -> Option<ValueId> {
        self.of(*node.inputs.first()?)
    }

    /// Rewrites a node and returns the number of changes.
    fn visit(&mut self, graph: &mut Rewriter<'_>, k: NodeId) -> Option<usize> {
        let node = graph.node(k);
        if time_invariance::repeats(graph.graph(), node, &|v| self.0.contains_key(&v)) {
            return self.hoist(graph, k);
        }
        let count = node.inputs.len();
        match &node.op {
            // The mean of equal steps is that of one.
            Op::MeanVar(_) => self.read_sources(graph, k, 0..1),
            Op::Slice(op) if op.axis == 0 => {
                // One of several equal steps.
                let source = self.of_first(node)?;
                let shape = graph.shape(node.outputs[0]).to_vec();
                graph.set_op(k, Reshape { shape });
                graph.set_input(k, 0, source);
                Some(1)
            }
            Op::Reduce(op) if op.reduction == Reduction::Sum && op.axes.first() == Some(&0) => {
                let op = op.clone();
                let source = self.of_first(node)?;
                scale_sum(graph, k, op, source)
            }
            Op::Map(_) => self.read_sources(graph, k, 0..count),
            Op::Scan(op) if op.feedback.is_none() => {
                let sequences = op.operands_that(&|port| matches!(port, Port::Sequence(_)));
                self.read_sources(graph, k, sequences)
            }
            Op::Draw(_) if count > 1 => self.read_sources(graph, k, 1..2),
            _ => None,
        }
    }

    fn read_sources(
        &self,
        graph: &mut Rewriter<'_>,
        k: NodeId,
        operands: impl IntoIterator<Item = usize>,
    ) -> Option<usize> {
        let mut changes = 0;
        for operand in operands {
            if let Some(source) = self.of(graph.node(k).inputs[operand]) {
                graph.set_input(k, operand, source);
                changes += 1;
            }
        }
        Some(changes)
    }

    /// Computes one step of a node whose results repeat, and makes the results repetitions of it.
    fn hoist(&mut self, graph: &mut Rewriter<'_>, k: NodeId) -> Option<usize> {
        let node = graph.node(k).clone();
        let source = |v: &ValueId| self.of(*v).unwrap_or(*v);
        let mut op = node.op.clone();
        let mut inputs = node.inputs.clone();
        match &mut op {
            Op::Expand(_) => {
                self.0.insert(node.outputs[0], node.inputs[0]);
                return None;
            }
            Op::Slice(_) => {
                let source = self.of_first(&node)?;
                let shape = graph.shape(node.outputs[0]).to_vec();
                graph.set_op(k, Expand { shape });
                graph.set_input(k, 0, source);
                self.0.insert(node.outputs[0], source);
                return Some(1);
            }
            Op::Map(Map { shape, .. }) => {
                shape[0] = 1;
                inputs = node.inputs.iter().map(source).collect();
            }
            Op::Reshape(Reshape { shape }) => {
                shape[0] = 1;
                inputs[0] = source(&inputs[0]);
            }
            _ => inputs[0] = source(&inputs[0]),
        }
        let once = graph.make(op, &inputs, &node.layer, node.backward).ok()?;
        let steps = once.outputs.clone();
        graph.insert_before(k, once);
        for (&from, &to) in steps.iter().zip(&node.outputs) {
            let shape = graph.shape(to).to_vec();
            self.0.insert(to, from);
            let repetition = Node {
                op: Expand { shape }.into(),
                inputs: vec![from],
                outputs: vec![to],
                ..node.clone()
            };
            graph.insert_before(k, repetition);
        }
        graph.remove(k);
        Some(1)
    }
}

/// A sum over time of one repeated step is that step times T: nearer to the sum, but not the bits
/// that adding T times gives. It depends on the graph alone, so all devices compute the same.
fn scale_sum(graph: &mut Rewriter<'_>, k: NodeId, op: Reduce, source: ValueId) -> Option<usize> {
    let node = graph.node(k).clone();
    let time = graph.shape(node.inputs[0])[0];
    let once = graph.make(op, &[source], &node.layer, node.backward).ok()?;
    let sum = once.outputs[0];
    graph.insert_before(k, once);
    let shape = graph.shape(sum).to_vec();
    graph.set_op(k, Map::new(vec![Map::operand(0) * time as f64], shape));
    graph.set_input(k, 0, sum);
    Some(1)
}
