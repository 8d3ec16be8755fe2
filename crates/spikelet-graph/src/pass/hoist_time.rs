//! Keeps repetitions over time virtual, and computes values that are constant over time once.
//!
//! ```text
//! %2 = expand[T, N, 784](%1)               %4 = matmul[a·bᵀ](%1, %w)     once, not T times
//! %3 = matmul[a·bᵀ](%2, %w)         →      %3 = expand[T, N, 196](%4)
//! %5 = scan[lif](%3, …)                    %5 = scan[lif](%4, …)         reads [1, N, 196]
//! ```
//!
//! Allowed because axis 0 of the operations that are moved is parallel ([`Semantics`](crate::semantics::Semantics)), and
//! because maps, draws and scans broadcast their operands. The repetition itself becomes dead code unless a
//! reader needs it in memory.
//!
//! One result has other bits than without this pass: a sum over T equal steps becomes the step
//! times T, which is rounded once, where adding rounds T − 1 times.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Expand, Map, OpKind, Operation, Reduce, Reduction, Slice};
use crate::rewrite::{NodeId, Rewriter};
use crate::semantics::{Class, Join};
use crate::time_invariance::{is_repetition, repeats, steps_axis};
use crate::types::TensorType;
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

    /// Rewrites a node and returns the number of changes.
    fn visit(&mut self, graph: &mut Rewriter<'_>, k: NodeId) -> Option<usize> {
        let node = graph.node(k);
        if is_repetition(graph.graph(), node) {
            self.0.insert(node.outputs[0], node.inputs[0]);
            return None;
        }
        if repeats(graph.graph(), node, &|v| self.0.contains_key(&v)) {
            return self.hoist(graph, k);
        }
        let source = node.inputs.iter().find_map(|v| self.of(*v))?;
        if graph.op::<Slice>(k).is_some_and(|slice| slice.axis == 0) {
            // One of several equal steps.
            graph.set_view(k, source);
            return Some(1);
        }
        match graph.op::<Reduce>(k) {
            Some(op) if op.reduction == Reduction::Sum && op.axes.first() == Some(&0) => {
                let op = op.clone();
                scale_sum(graph, k, op, source)
            }
            _ => self.read_sources(graph, k),
        }
    }

    /// Lets a node read one step instead of equal ones where it broadcasts that, or where its results are a maximum or a
    /// mean over them.
    fn read_sources(&self, graph: &mut Rewriter<'_>, k: NodeId) -> Option<usize> {
        let node = graph.node(k).clone();
        if matches!(node.op.class(), Class::Opaque | Class::Collective) {
            return None;
        }
        let s = graph.graph().semantics(&node);
        let mut types: Vec<TensorType> = node.inputs.iter().map(|v| graph.ty(*v).clone()).collect();
        let shapes = node.outputs.iter().map(|v| graph.shape(*v).to_vec());
        let shapes: Vec<Vec<usize>> = shapes.collect();
        let mut changes = 0;
        for (operand, access) in s.operands.iter().enumerate() {
            let Some(source) = self.of(node.inputs[operand]) else {
                continue;
            };
            let sums = access.0[0].is_some_and(|time| {
                let mut results = s.results.iter().zip(&s.joins);
                results.any(|(result, join)| result.place(time).is_none() && *join == Join::Sum)
            });
            let steps = std::mem::replace(&mut types[operand], graph.ty(source).clone());
            let made = node.op.infer(&types).ok().filter(|_| !sums);
            if made.is_some_and(|made| made.iter().map(|ty| &ty.shape).eq(&shapes)) {
                graph.set_input(k, operand, source);
                changes += 1;
            } else {
                types[operand] = steps;
            }
        }
        Some(changes)
    }

    /// Computes one step of a node whose results repeat, and makes the results repetitions of it.
    fn hoist(&mut self, graph: &mut Rewriter<'_>, k: NodeId) -> Option<usize> {
        let node = graph.node(k).clone();
        if Slice::of(&node.op).is_some_and(|slice| slice.axis == 0) {
            let source = self.of(node.inputs[0])?;
            let shape = graph.shape(node.outputs[0]).to_vec();
            graph.set_op(k, Expand { shape });
            graph.set_input(k, 0, source);
            self.0.insert(node.outputs[0], source);
            return Some(1);
        }
        let s = graph.graph().semantics(&node);
        let types: Vec<TensorType> = node.outputs.iter().map(|v| graph.ty(*v).clone()).collect();
        let time = steps_axis(&node.op, &s)?;
        let op = node.op.part(&s, &types, time, &(0..1));
        let mut inputs = node.inputs.clone();
        for (input, access) in inputs.iter_mut().zip(&s.operands) {
            if access.place(time).is_some() || node.op.class() == Class::Elementwise {
                *input = self.of(*input).unwrap_or(*input);
            }
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
