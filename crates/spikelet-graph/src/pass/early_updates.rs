//! Updates large parameters as soon as their gradients are computed.
//!
//! ```text
//! %8 = matmul[aᵀ·b](%g, %x)       gradient of w      %8 = matmul[aᵀ·b](%g, %x)
//! …                                                  `w`: %9 = map[x0 - x1 · 0.1](%w, %8)
//! `w`: %9 = map[x0 - x1 · 0.1](%w, %8)          →    …
//! ```
//!
//! Traced after the backward pass, updates would keep all gradients alive to the end. The update of
//! a large tensor moves to the place where its last operand is computed and the old value is read
//! for the last time; updates of small tensors stay together, and can share a kernel. Allowed
//! because no node that it moves over reads or writes what the update writes or reads.

use super::Report;
use crate::graph::{Graph, ValueId};
use crate::liveness;
use crate::op::Map;
use crate::rewrite::{NodeId, Rewriter};
use std::collections::HashMap;

/// Gradients of fewer bytes may live to the end.
const LARGE: usize = 1 << 20;

/// Moves updates forward.
pub fn run(graph: &mut Graph) -> Report {
    let mut updates: HashMap<ValueId, Vec<ValueId>> = HashMap::new();
    for output in &graph.outputs {
        let inputs = updates.entry(output.value).or_default();
        inputs.extend(output.updates);
    }
    let views = Views::of(graph);
    let changes = Rewriter::new(graph).apply(|graph, update| {
        graph.op::<Map>(update)?;
        let node = graph.node(update);
        let updated = node.outputs.iter().filter_map(|v| updates.get(v));
        let updated: Vec<ValueId> = updated.flatten().copied().collect();
        let large = node.inputs.iter().any(|v| graph.ty(*v).bytes() >= LARGE);
        if updated.is_empty() || !large {
            return None;
        }
        let producers = node.inputs.iter().filter_map(|v| graph.producer(*v));
        let old = updated.iter().flat_map(|v| views.of_memory(*v));
        let readers = old.flat_map(|v| graph.readers(*v));
        let before = producers
            .chain(readers)
            .filter(|k| graph.precedes(*k, update));
        let last = before.max_by_key(|k| graph.position(*k));
        move_after(graph, update, last)
    });
    Report {
        pass: "early updates",
        changes,
        summary: format!("{changes} large tensors updated as soon as their gradients are computed"),
    }
}

/// Moves a node to the place after another, or to the start; `None` if it is there already.
fn move_after(graph: &mut Rewriter<'_>, node: NodeId, at: Option<NodeId>) -> Option<()> {
    if graph.previous(node) == at {
        return None;
    }
    graph.move_after(node, at);
    Some(())
}

/// The values that share memory: a view of an old value may be read later than the value. Moving
/// nodes changes no view.
struct Views {
    roots: Vec<usize>,
    of_root: HashMap<usize, Vec<ValueId>>,
}

impl Views {
    /// The views of what the outputs of a graph update.
    fn of(graph: &Graph) -> Self {
        let roots = liveness::roots(graph);
        let updated = graph.outputs.iter().filter_map(|o| o.updates);
        let mut of_root: HashMap<usize, Vec<ValueId>> =
            updated.map(|v| (roots[v.index()], vec![])).collect();
        for (value, root) in roots.iter().enumerate() {
            if let Some(views) = of_root.get_mut(root) {
                views.push(ValueId(value as u32));
            }
        }
        Self { roots, of_root }
    }

    /// All values in the memory of an updated value, itself among them.
    fn of_memory(&self, value: ValueId) -> &[ValueId] {
        let views = self.of_root.get(&self.roots[value.index()]);
        views.map_or(&[], Vec::as_slice)
    }
}
