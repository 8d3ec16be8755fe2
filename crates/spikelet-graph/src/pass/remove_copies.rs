//! Removes operations that copy a value, such as those that only stopped its gradient.
//!
//! ```text
//! %3 = map[detach x0](%2)
//! %4 = matmul(%3, %1)        →     %4 = matmul(%2, %1)
//! ```
//!
//! A copy that is a result of the graph stays.

use super::Report;
use crate::graph::Graph;
use crate::op::Map;
use crate::rewrite::{NodeId, Rewriter};

/// Removes copies.
pub fn run(graph: &mut Graph) -> Report {
    let changes = Rewriter::new(graph).apply(remove);
    Report {
        pass: "copies",
        changes,
        summary: format!("{changes} copies of values removed"),
    }
}

fn remove(graph: &mut Rewriter<'_>, copy: NodeId) -> Option<()> {
    let map = graph.op::<Map>(copy)?;
    if !map.is_identity() && !map.is_detached() {
        return None;
    }
    let (from, to) = (graph.node(copy).inputs[0], graph.node(copy).outputs[0]);
    if graph.ty(from) != graph.ty(to) || graph.output_count(to) > 0 {
        return None;
    }
    graph.replace(to, from);
    graph.remove(copy);
    Some(())
}
