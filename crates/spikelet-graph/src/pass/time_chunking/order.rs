//! Which operations a chunk runs through before the next chunk.

use super::{Cut, cut_values};
use crate::graph::{Graph, ValueId};
use crate::op::Op;
use std::collections::HashSet;

/// A unit of the execution order.
pub(super) enum Item {
    /// A node that is not divided.
    Whole(usize),
    /// Nodes with the same number of chunks: the first chunk of all of them, then the second, …; from
    /// the last chunk to the first if there is a backward scan among them.
    Interleaved(Vec<usize>),
}

/// The order in which a scan runs through the chunks.
pub(super) fn is_backward(op: &Op) -> Option<bool> {
    match op {
        Op::Scan(_) => Some(false),
        Op::ScanGrad(_) => Some(true),
        Op::Loop(op) => Some(op.reverse),
        _ => None,
    }
}

/// Nodes that are divided and run interleaved.
#[derive(Default)]
struct Run {
    nodes: Vec<usize>,
    backward: Option<bool>,
    /// Values computed here, completely or in chunks.
    made: HashSet<ValueId>,
    /// Values that are complete only after all chunks.
    late: HashSet<ValueId>,
    /// Nodes that read these.
    later: Vec<usize>,
    /// Whether there is a sum over ranks among them: the order of these must not change.
    sums_over_ranks: bool,
}

impl Run {
    fn end(&mut self, items: &mut Vec<Item>) {
        let run = std::mem::take(self);
        if !run.nodes.is_empty() {
            items.push(Item::Interleaved(run.nodes));
        }
        items.extend(run.later.into_iter().map(Item::Whole));
    }
}

/// All nodes, in an order in which as many as possible run interleaved.
pub(super) fn in_order(graph: &Graph, cuts: &[Option<Cut>]) -> Vec<Item> {
    let mut items = vec![];
    let mut run = Run::default();
    for (k, node) in graph.nodes.iter().enumerate() {
        let Some(cut) = cuts[k] else {
            let waits = |v: &ValueId| run.made.contains(v) || run.late.contains(v);
            let sums = matches!(node.op, Op::AllReduceStart(_));
            if node.inputs.iter().any(waits) || (sums && run.sums_over_ranks) {
                run.sums_over_ranks |= sums;
                run.late.extend(&node.outputs);
                run.later.push(k);
            } else {
                items.push(Item::Whole(k));
            }
            continue;
        };
        let (operands, results) = cut_values(graph, node).unwrap_or_default();
        let mut inputs = node.inputs.iter().enumerate();
        let waits = inputs
            .any(|(k, v)| run.late.contains(v) || (!operands.contains(&k) && run.made.contains(v)));
        let direction = is_backward(&node.op);
        let turns = direction.is_some() && run.backward.is_some_and(|b| Some(b) != direction);
        let other = run.nodes.first().and_then(|f| cuts[*f]);
        if waits || turns || other.is_some_and(|o| o.count != cut.count) {
            run.end(&mut items);
        }
        run.nodes.push(k);
        run.backward = run.backward.or(direction);
        run.made.extend(&node.outputs);
        for (at, value) in node.outputs.iter().enumerate() {
            if !results.contains(&at) {
                run.late.insert(*value);
            }
        }
    }
    run.end(&mut items);
    items
}
