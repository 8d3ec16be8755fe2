//! Sums over ranks that are under way while a device goes on.
//!
//! ```text
//! %5 = all_reduce[2 ranks](%4)     from here on %4 is read and %5 is written, at any time
//! …
//! %6 = arrive(%5)                  until here
//! ```
//!
//! Between the two nobody may touch this memory: results and operands live until the sums arrive,
//! even an operand that nobody reads after the start.

use super::{Location, arena};
use crate::error::{Error, Result};
use crate::graph::{Graph, Node, ValueId};
use crate::op::Op;
use std::collections::HashMap;

/// Each operand of a sum over ranks, and the node before whose end it may not change.
pub(super) fn held(graph: &Graph) -> Vec<(usize, ValueId)> {
    let ends = ends(graph);
    let sums = graph.nodes.iter().enumerate();
    let sums = sums.filter(|(_, node)| matches!(node.op, Op::AllReduceStart(_)));
    sums.flat_map(|(k, node)| {
        let end = ends.get(&k).copied().unwrap_or(graph.nodes.len());
        node.inputs.iter().map(move |v| (end, *v))
    })
    .collect()
}

/// By the number of the node that starts sums, that of the node that waits for them.
fn ends(graph: &Graph) -> HashMap<usize, usize> {
    let producers = graph.producers();
    let waits = graph.nodes.iter().enumerate();
    let waits = waits.filter(|(_, node)| matches!(node.op, Op::AllReduceDone(_)));
    waits
        .filter_map(|(k, node)| Some((producers[node.inputs.first()?.index()]?, k)))
        .collect()
}

/// Lets sums take the places of operands that nobody reads otherwise, and all other operands live
/// until the sums arrive.
pub(super) fn settle(
    graph: &Graph,
    roots: &mut [usize],
    lives: &mut [Option<(usize, usize)>],
    places: &[Location],
) {
    for (k, node) in graph.nodes.iter().enumerate() {
        if !matches!(node.op, Op::AllReduceStart(_)) {
            continue;
        }
        for (input, output) in node.inputs.iter().zip(&node.outputs) {
            let (from, own) = (arena::find(roots, input.index()), output.index());
            let same = |v: &&ValueId| arena::find(roots, v.index()) == from;
            let alone = node.inputs.iter().filter(same).count() == 1;
            let whole = graph.ty(ValueId(from as u32)).bytes() == graph.ty(*input).bytes();
            let last = lives[from].is_some_and(|(_, last)| last == k);
            let free = places[from] == Location::Unused && places[own] == Location::Unused;
            let Some((_, end)) = lives[own].filter(|_| roots[own] == own) else {
                continue;
            };
            if alone && whole && last && free {
                lives[from] = lives[from].map(|(first, _)| (first, end));
                lives[own] = None;
                roots[own] = from;
            }
        }
    }
    for (end, value) in held(graph) {
        let root = arena::find(roots, value.index());
        lives[root] = lives[root].map(|(first, last)| (first, last.max(end)));
    }
}

/// Checks that what is started arrives: all results of a sum over ranks go to one node that waits
/// for them, and to nobody else.
pub(super) fn check(graph: &Graph) -> Result<()> {
    let refuse = |node: &Node, problem: &str| {
        Err(Error::Plan {
            problem: format!("{} in `{}` {problem}", node_name(node), node.layer),
        })
    };
    let mut started: HashMap<ValueId, usize> = HashMap::new();
    let mut waiting: HashMap<usize, &Node> = HashMap::new();
    for (k, node) in graph.nodes.iter().enumerate() {
        let of = |v: &ValueId| started.get(v).copied();
        if matches!(node.op, Op::AllReduceDone(_)) {
            let first = node.inputs.first().and_then(of);
            let Some(sum) = first.and_then(|first| waiting.remove(&first)) else {
                return refuse(node, "waits for nothing that was started");
            };
            if sum.outputs != node.inputs {
                return refuse(node, "waits for other tensors than were started together");
            }
        } else if node.inputs.iter().any(|v| of(v).is_some()) {
            return refuse(node, "reads a sum over ranks that has not arrived");
        }
        if matches!(node.op, Op::AllReduceStart(_)) {
            started.extend(node.outputs.iter().map(|v| (*v, k)));
            waiting.insert(k, node);
        }
    }
    let given = graph
        .outputs
        .iter()
        .find(|o| started.contains_key(&o.value));
    if let Some(output) = given {
        return Err(Error::Plan {
            problem: format!("output `{}` is a sum that has not arrived", output.name),
        });
    }
    match waiting.values().next() {
        Some(node) => refuse(node, "is never waited for"),
        None => Ok(()),
    }
}

fn node_name(node: &Node) -> String {
    crate::op::Operation::name(&node.op)
}
