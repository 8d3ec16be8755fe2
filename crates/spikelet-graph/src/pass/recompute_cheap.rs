//! Decides what the backward pass stores of the forward pass and what it recomputes.
//!
//! ```text
//! %2 = map[x0 · x0](%1)          forward          %2 = map[x0 · x0](%1)     forward
//! …                                        →      …
//! %9 = map[x0 · x1](%2, %8)      backward         %9' = map[x0 · x0](%1)    backward
//!                                                 %9 = map[x0 · x1](%9', %8)
//! ```
//!
//! A short elementwise result whose operands are stored anyway, a fill or a repetition is
//! recomputed next to its reader instead of living through the whole backward pass. A value of
//! 16-bit elements is stored: to recompute it would read more bytes than it has. (A neuron scan
//! stores nothing, or a state every K steps: its backward pass recomputes the potentials.) Allowed
//! because the same operations on the same operands give the same bits.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Expand, Fill, Map, OpKind};
use crate::rewrite::{NodeId, Rewriter};
use std::collections::{BTreeSet, HashMap};

/// At most this many scalar operations are repeated to avoid storing a tensor.
const CHEAP: usize = 4;

/// Recomputes cheap values in the backward pass.
pub fn run(graph: &mut Graph) -> Report {
    let mut graph = Rewriter::new(graph);
    let saved = saved(&graph);
    let cheap: HashMap<ValueId, Node> = saved
        .iter()
        .filter_map(|value| Some((*value, cheap_producer(&graph, *value, &saved)?)))
        .collect();
    let mut copies: HashMap<ValueId, ValueId> = HashMap::new();
    for k in graph.order() {
        if !graph.node(k).backward {
            continue;
        }
        for operand in 0..graph.node(k).inputs.len() {
            let value = graph.node(k).inputs[operand];
            if cheap.contains_key(&value) {
                let copy = recompute(&mut graph, value, k, &cheap, &mut copies);
                graph.set_input(k, operand, copy);
            }
        }
    }
    graph.remove_unread();
    let stored = saved.iter().filter(|v| !cheap.contains_key(v));
    let sizes = stored.map(|v| graph.ty(*v).bytes());
    let bytes = sizes.fold(0, usize::saturating_add);
    Report {
        pass: "saved for the backward pass",
        changes: copies.len(),
        summary: format!(
            "{} tensors ({bytes} bytes) saved, {} recomputed",
            saved.len() - cheap.len(),
            copies.len()
        ),
    }
}

/// The values that the backward pass reads of the forward pass.
fn saved(graph: &Rewriter<'_>) -> BTreeSet<ValueId> {
    let nodes = graph.order().into_iter().map(|k| graph.node(k));
    let read = nodes
        .filter(|node| node.backward)
        .flat_map(|node| &node.inputs);
    let is_forward = |v: &&ValueId| graph.producer(**v).is_some_and(|k| !graph.node(k).backward);
    read.filter(is_forward).copied().collect()
}

/// The node that computes a value, if it is cheap and its operands are stored anyway.
fn cheap_producer(graph: &Rewriter<'_>, value: ValueId, saved: &BTreeSet<ValueId>) -> Option<Node> {
    let node = graph.node(graph.producer(value)?);
    let stored = |v: &ValueId| graph.producer(*v).is_none() || saved.contains(v);
    // A graph whose operations are not fused stores what each of them computes.
    let is_short = |map: &Map| {
        !graph.graph().disable_fusion
            && map.expressions.len() == 1
            && !graph.ty(value).dtype.is_half()
            && map.operations(node.inputs.len()) <= CHEAP
    };
    let cheap = Fill::of(&node.op).is_some()
        || Expand::of(&node.op).is_some()
        || Map::of(&node.op).is_some_and(is_short);
    (cheap && node.inputs.iter().all(stored)).then(|| node.clone())
}

/// The copy of a value, computed before node `at` by copies of its producers where those are
/// recomputed too: otherwise the copy would keep the originals in memory.
fn recompute(
    graph: &mut Rewriter<'_>,
    value: ValueId,
    at: NodeId,
    cheap: &HashMap<ValueId, Node>,
    copies: &mut HashMap<ValueId, ValueId>,
) -> ValueId {
    // A value is copied after those that it is computed from.
    let mut open = vec![value];
    while let Some(&last) = open.last() {
        let count = open.len();
        if !copies.contains_key(&last) {
            let inputs = cheap[&last].inputs.iter().rev().copied();
            open.extend(inputs.filter(|v| cheap.contains_key(v) && !copies.contains_key(v)));
            if open.len() > count {
                continue;
            }
            let mut node = cheap[&last].clone();
            for input in &mut node.inputs {
                *input = copies.get(input).copied().unwrap_or(*input);
            }
            let ty = graph.ty(last).clone();
            let copy = graph.add_value(ty);
            node.outputs = vec![copy];
            node.backward = true;
            graph.insert_before(at, node);
            copies.insert(last, copy);
        }
        open.pop();
    }
    copies[&value]
}
