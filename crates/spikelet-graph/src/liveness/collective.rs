//! Lifetimes of all-reduces, which run while the device continues.
//!
//! ```text
//! %5 = all_reduce_start[2 ranks](%4)     from here on %4 is read and %5 is written, at any time
//! …
//! %6 = all_reduce_done(%5)               until here
//! ```
//!
//! Between the two no other node may touch this memory: results and operands live until the
//! all-reduce is done, even an operand that is not read after the start.

use super::{Location, find};
use crate::graph::{Graph, ValueId};
use crate::op::{AllReduceDone, AllReduceStart, OpKind};
use std::collections::HashMap;

/// Each operand of an all-reduce, and the node before whose end it may not change.
pub(super) fn held(graph: &Graph) -> Vec<(usize, ValueId)> {
    let ends = ends(graph);
    let sums = graph.nodes.iter().enumerate();
    let sums = sums.filter(|(_, node)| AllReduceStart::of(&node.op).is_some());
    sums.flat_map(|(k, node)| {
        let end = ends.get(&k).copied().unwrap_or(graph.nodes.len());
        node.inputs.iter().map(move |v| (end, *v))
    })
    .collect()
}

/// By the index of a node that starts an all-reduce, that of the node that waits for it.
fn ends(graph: &Graph) -> HashMap<usize, usize> {
    let producers = graph.producers();
    let waits = graph.nodes.iter().enumerate();
    let waits = waits.filter(|(_, node)| AllReduceDone::of(&node.op).is_some());
    waits
        .filter_map(|(k, node)| Some((producers[node.inputs.first()?.index()]?, k)))
        .collect()
}

/// Lets sums overwrite operands that have no other reader, and all other operands live until the
/// all-reduce is done.
pub(super) fn extend(
    graph: &Graph,
    roots: &mut [usize],
    lives: &mut [Option<(usize, usize)>],
    places: &[Location],
) {
    for (k, node) in graph.nodes.iter().enumerate() {
        if AllReduceStart::of(&node.op).is_none() {
            continue;
        }
        for (input, output) in node.inputs.iter().zip(&node.outputs) {
            let (from, own) = (find(roots, input.index()), output.index());
            let same = |v: &&ValueId| find(roots, v.index()) == from;
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
        let root = find(roots, value.index());
        lives[root] = lives[root].map(|(first, last)| (first, last.max(end)));
    }
}
