//! Which operations their parts run through together.

use super::{Cut, cut_values};
use crate::graph::{Graph, ValueId};
use crate::op::Op;
use std::collections::HashSet;

/// What runs next.
pub(super) enum Item {
    /// A node as it is.
    Whole(usize),
    /// Nodes of equally many parts: the first part of all of them, then the second part, …; from
    /// the last part to the first if there is a backward scan among them.
    Together(Vec<usize>),
}

/// Which way a scan goes through the parts.
fn is_backward(op: &Op) -> Option<bool> {
    match op {
        Op::Scan(_) => Some(false),
        Op::ScanGrad(_) => Some(true),
        _ => None,
    }
}

/// Nodes that are cut and wait for each other's parts.
#[derive(Default)]
struct Run {
    nodes: Vec<usize>,
    backward: Option<bool>,
    /// Made here, whole or in parts.
    made: HashSet<ValueId>,
    /// What is there only when all parts have run.
    late: HashSet<ValueId>,
    /// Nodes that wait for that.
    later: Vec<usize>,
    /// Whether there is a sum over ranks among them, which others must not overtake.
    sums_over_ranks: bool,
}

impl Run {
    fn end(&mut self, items: &mut Vec<Item>) {
        let run = std::mem::take(self);
        if !run.nodes.is_empty() {
            items.push(Item::Together(run.nodes));
        }
        items.extend(run.later.into_iter().map(Item::Whole));
    }
}

/// All nodes in an order in which as many as possible run together.
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
