//! Decides what the backward pass keeps of the forward pass and what it makes again.
//!
//! ```text
//! %2 = map[x0 · x0](%1)          forward          %2 = map[x0 · x0](%1)     forward
//! …                                        →      …
//! %9 = map[x0 · x1](%2, %8)      backward         %9' = map[x0 · x0](%1)    backward
//!                                                 %9 = map[x0 · x1](%9', %8)
//! ```
//!
//! A short elementwise result whose operands are kept anyway, a fill or a repetition is made
//! again next to its reader instead of living through the whole backward pass. A value that is
//! stored in 16 bits is kept: to make it again would read more than it holds. (A neuron scan
//! keeps nothing, or a state every K steps: its backward pass recomputes the potentials.) Allowed
//! because the same operations on the same operands give the same bits.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::Op;
use std::collections::{BTreeSet, HashMap};

/// At most this many scalar operations are repeated to save a tensor.
const CHEAP: usize = 4;

/// Makes cheap values again in the backward pass.
pub fn run(graph: &mut Graph) -> Report {
    let producers = graph.producers();
    let mut forward_needs: BTreeSet<ValueId> = BTreeSet::new();
    for node in graph.nodes.iter().filter(|n| n.backward) {
        forward_needs.extend(&node.inputs);
    }
    let is_forward = |v: &ValueId| producers[v.index()].is_some_and(|k| !graph.nodes[k].backward);
    let saved: BTreeSet<ValueId> = forward_needs.into_iter().filter(is_forward).collect();

    let mut again: HashMap<ValueId, Node> = HashMap::new();
    for &value in &saved {
        let Some(maker) = producers[value.index()] else {
            continue;
        };
        let node = &graph.nodes[maker];
        let kept_anyway = node
            .inputs
            .iter()
            .all(|v| producers[v.index()].is_none() || saved.contains(v));
        let cheap = match &node.op {
            Op::Fill(_) | Op::Expand(_) => true,
            // A graph that keeps its operations apart keeps what they made, too.
            Op::Map(map) if !graph.disable_fusion => {
                map.expressions.len() == 1
                    && !graph.ty(value).dtype.is_half()
                    && map
                        .program(node.inputs.len())
                        .is_ok_and(|p| p.operations() <= CHEAP)
            }
            _ => false,
        };
        if cheap && kept_anyway {
            again.insert(value, node.clone());
        }
    }

    let mut nodes = vec![];
    let mut copies: HashMap<ValueId, ValueId> = HashMap::new();
    for mut node in std::mem::take(&mut graph.nodes) {
        if node.backward {
            for value in &mut node.inputs {
                if again.contains_key(value) {
                    *value = remake(graph, *value, &again, &mut copies, &mut nodes);
                }
            }
        }
        nodes.push(node);
    }
    graph.nodes = nodes;
    let kept = saved.iter().filter(|v| !again.contains_key(v));
    let sizes = kept.map(|v| graph.ty(*v).bytes());
    let bytes = sizes.fold(0, usize::saturating_add);
    Report {
        pass: "saved for the backward pass",
        changes: copies.len(),
        summary: format!(
            "{} tensors ({bytes} bytes) kept, {} made again",
            saved.len() - again.len(),
            copies.len()
        ),
    }
}

/// The copy of a value, made by copies of its producers where those are made again too: otherwise
/// the copy would hold the originals in memory.
fn remake(
    graph: &mut Graph,
    value: ValueId,
    again: &HashMap<ValueId, Node>,
    copies: &mut HashMap<ValueId, ValueId>,
    nodes: &mut Vec<Node>,
) -> ValueId {
    if let Some(&copy) = copies.get(&value) {
        return copy;
    }
    let mut node = again[&value].clone();
    for input in &mut node.inputs {
        if again.contains_key(input) {
            *input = remake(graph, *input, again, copies, nodes);
        }
    }
    let ty = graph.ty(value).clone();
    let copy = graph.add_value(ty);
    node.outputs = vec![copy];
    node.backward = true;
    nodes.push(node);
    copies.insert(value, copy);
    copy
}
