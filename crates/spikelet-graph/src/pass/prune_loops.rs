//! Removes from loops what no result depends on.
//!
//! ```text
//! %5, %6, %7 = loop(%0, %1, %2)       %7 read               %7 = loop(%0, %2)
//!     carried 0, carried 1, stacked 0                 →         carried 0, stacked 0
//! ```
//!
//! A stacked result that is not read leaves the loop; so does a carried value that is not read after the loop
//! and that no other result needs, and a sequence or invariant that the body does not read. A value that is given as two
//! sequences, or as two invariants, is given once. Allowed because operations have no effects but their results. Nodes that
//! are not read are removed as well, last first, so that a chain of loops is pruned at once.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Loop, LoopBody, OpKind};
use crate::rewrite::Rewriter;
use std::sync::Arc;

/// Prunes all loops of a graph, and those inside their bodies.
pub fn run(graph: &mut Graph) -> Report {
    let changes = prune(graph);
    Report {
        pass: "loops",
        changes,
        summary: format!("{changes} results and operands of loops removed"),
    }
}

fn prune(graph: &mut Graph) -> usize {
    let mut changes = 0;
    let mut graph = Rewriter::new(graph);
    for k in graph.order().into_iter().rev() {
        if graph.remove_if_unread(k) || graph.op::<Loop>(k).is_none() {
            continue;
        }
        if let Some(node) = with_each_operand_once(graph.node(k)) {
            graph.set(k, node);
        }
        let node = graph.node(k);
        let read: Vec<bool> = node
            .outputs
            .iter()
            .map(|v| graph.use_count(*v) > 0)
            .collect();
        if let Some((node, removed)) = pruned(node, &read) {
            graph.set(k, node);
            changes += removed;
        }
    }
    changes
}

/// The loop whose body reads an operand that is given twice in one place; the other one is not read.
fn with_each_operand_once(node: &Node) -> Option<Node> {
    let op = Loop::of(&node.op)?;
    let sequences = op.sequence_operands();
    let inputs: Vec<ValueId> = op.body.graph().inputs.iter().map(|i| i.value).collect();
    let first_of = |k: usize| {
        let start = if k < sequences.end {
            sequences.start
        } else {
            sequences.end
        };
        (start..k).find(|first| node.inputs[*first] == node.inputs[k])
    };
    let again = (sequences.start..inputs.len()).filter_map(|k| Some((k, first_of(k)?)));
    let again: Vec<(usize, usize)> = again.collect();
    if again.is_empty() {
        return None;
    }
    let mut graph = op.body.graph().clone();
    let mut body = Rewriter::new(&mut graph);
    for (k, first) in again {
        body.replace(inputs[k], inputs[first]);
    }
    drop(body);
    let body = LoopBody::new(graph, op.body.carried_count(), op.body.sequence_count()).ok()?;
    Some(Node {
        op: Loop {
            body: Arc::new(body),
            ..op.clone()
        }
        .into(),
        ..node.clone()
    })
}

/// The loop without what its read results do not need, and the number of results and operands that were
/// removed; `None` where all are needed.
fn pruned(node: &Node, read: &[bool]) -> Option<(Node, usize)> {
    let op = Loop::of(&node.op)?;
    let carried = op.body.carried_count();
    let mut kept = read.to_vec();
    let inputs: Vec<ValueId> = op.body.graph().inputs.iter().map(|i| i.value).collect();
    let outputs: Vec<ValueId> = op.body.graph().outputs.iter().map(|o| o.value).collect();
    let needed = loop {
        let needed = needed(op.body.graph(), &kept);
        let missing = (0..carried).filter(|k| !kept[*k] && needed[inputs[*k].index()]);
        let missing: Vec<usize> = missing.collect();
        if missing.is_empty() {
            break needed;
        }
        missing.into_iter().for_each(|k| kept[k] = true);
    };
    let takes = |k: usize| match k < carried {
        true => kept[k],
        false => needed[inputs[k].index()],
    };
    let removed = (0..outputs.len()).filter(|k| !kept[*k]).count()
        + (carried..inputs.len()).filter(|k| !takes(*k)).count();
    let mut graph = op.body.graph().clone();
    let mut at = 0..;
    graph
        .outputs
        .retain(|_| at.next().is_some_and(|k: usize| kept[k]));
    let mut at = 0..;
    graph
        .inputs
        .retain(|_| at.next().is_some_and(|k: usize| takes(k)));
    let inside = prune(&mut graph);
    if removed + inside == 0 {
        return None;
    }
    let still_carried = (0..carried).filter(|k| kept[*k]).count();
    let sequences = op.sequence_operands().filter(|k| takes(*k)).count();
    // The types of what stays do not change.
    let body = LoopBody::new(graph, still_carried, sequences).ok()?;
    let chosen = |values: &[ValueId], keep: &dyn Fn(usize) -> bool| -> Vec<ValueId> {
        let list = values.iter().enumerate().filter(|(k, _)| keep(*k));
        list.map(|(_, v)| *v).collect()
    };
    let pruned = Node {
        op: Loop {
            body: Arc::new(body),
            ..op.clone()
        }
        .into(),
        inputs: chosen(&node.inputs, &takes),
        outputs: chosen(&node.outputs, &|k| kept[k]),
        ..node.clone()
    };
    Some((pruned, removed + inside))
}

/// The values that are read to compute the outputs that are kept, with these.
fn needed(graph: &Graph, kept: &[bool]) -> Vec<bool> {
    let mut found = vec![false; graph.values()];
    for (output, _) in graph.outputs.iter().zip(kept).filter(|(_, kept)| **kept) {
        found[output.value.index()] = true;
    }
    for node in graph.nodes.iter().rev() {
        if node.outputs.iter().any(|v| found[v.index()]) {
            for input in &node.inputs {
                found[input.index()] = true;
            }
        }
    }
    found
}
