//! Updates large parameters as soon as their gradients are there.
//!
//! ```text
//! %8 = matmul[aᵀ·b](%g, %x)       gradient of w      %8 = matmul[aᵀ·b](%g, %x)
//! …                                                  `w`: %9 = map[x0 - x1 · 0.1](%w, %8)
//! `w`: %9 = map[x0 - x1 · 0.1](%w, %8)          →    …
//! ```
//!
//! Traced behind the whole backward pass, updates would keep all gradients to the end. One of a
//! large tensor moves to where its last operand is made and the old value is read for the last
//! time; those of small tensors stay together, and can share a kernel. Allowed because nothing
//! that is moved over reads or makes what it touches.

use super::Report;
use crate::graph::{Graph, ValueId};
use crate::op::Op;
use std::collections::HashMap;

/// Gradients of fewer bytes may live to the end.
const LARGE: usize = 1 << 20;

/// Moves updates forward.
pub fn run(graph: &mut Graph) -> Report {
    let mut changes = 0;
    let mut updates: HashMap<ValueId, Vec<ValueId>> = HashMap::new();
    for output in &graph.outputs {
        let inputs = updates.entry(output.value).or_default();
        inputs.extend(output.updates);
    }
    // A view of an old value may be read later than the value. Moving nodes changes no view.
    let roots = crate::plan::roots(graph);
    for k in 0..graph.nodes.len() {
        let node = &graph.nodes[k];
        let made = node.outputs.iter().filter_map(|v| updates.get(v));
        let updated: Vec<ValueId> = made.flatten().copied().collect();
        let large = node.inputs.iter().any(|v| graph.ty(*v).bytes() >= LARGE);
        if updated.is_empty() || !large || !matches!(node.op, Op::Map(_)) {
            continue;
        }
        let before = &graph.nodes[..k];
        let waits_for = |n: &crate::graph::Node| {
            let makes = n.outputs.iter().any(|v| node.inputs.contains(v));
            makes || n.inputs.iter().any(|v| updated.contains(v))
        };
        let at = before
            .iter()
            .rposition(waits_for)
            .map_or(0, |last| last + 1);
        let old: Vec<usize> = updated.iter().map(|v| roots[v.index()]).collect();
        let read =
            |n: &crate::graph::Node| n.inputs.iter().any(|v| old.contains(&roots[v.index()]));
        let at = before
            .iter()
            .rposition(read)
            .map_or(at, |last| at.max(last + 1));
        if at < k {
            let node = graph.nodes.remove(k);
            graph.nodes.insert(at, node);
            changes += 1;
        }
    }
    Report {
        pass: "early updates",
        changes,
        summary: format!("{changes} large tensors updated as soon as their gradients are there"),
    }
}
