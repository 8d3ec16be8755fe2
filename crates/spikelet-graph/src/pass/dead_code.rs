//! Removes nodes of whose results none is read.
//!
//! ```text
//! %1 = map[exp(x0)](%0)            %2 = sum[0](%0)
//! %2 = sum[0](%0)            →     `y` = %2
//! `y` = %2
//! ```
//!
//! Allowed because operations have no effects but their results. An all-reduce that is not read is
//! removed on every rank, since all ranks have the same graph.

use super::Report;
use crate::graph::{Graph, ValueId};
use crate::rewrite::Rewriter;
use std::collections::HashSet;

/// Removes dead nodes.
pub fn run(graph: &mut Graph) -> Report {
    let before = graph.nodes.len();
    let changes = Rewriter::new(graph).remove_unread();
    Report {
        pass: "dead code",
        changes,
        summary: format!("{changes} of {before} nodes removed"),
    }
}

/// Removes the nodes and the inputs on which no output depends.
pub(crate) fn remove_unread_inputs(graph: &mut Graph) {
    run(graph);
    let nodes = graph.nodes.iter().flat_map(|node| &node.inputs);
    let outputs = graph.outputs.iter().map(|output| &output.value);
    let updated = graph.outputs.iter().filter_map(|o| o.updates.as_ref());
    let read: HashSet<ValueId> = nodes.chain(outputs).chain(updated).copied().collect();
    graph.inputs.retain(|input| read.contains(&input.value));
}
