//! Drops nodes whose results nobody reads.
//!
//! ```text
//! %1 = map[exp(x0)](%0)            %2 = sum[0](%0)
//! %2 = sum[0](%0)            →     `y` = %2
//! `y` = %2
//! ```
//!
//! Allowed because operations have no effects but their results. A sum over ranks that nobody reads
//! is dropped on every rank, since all have the same graph.

use super::Report;
use crate::graph::Graph;

/// Drops dead nodes.
pub fn run(graph: &mut Graph) -> Report {
    let mut live = vec![false; graph.values()];
    for output in &graph.outputs {
        live[output.value.index()] = true;
    }
    let mut keep = vec![false; graph.nodes.len()];
    for (k, node) in graph.nodes.iter().enumerate().rev() {
        if node.outputs.iter().any(|v| live[v.index()]) {
            keep[k] = true;
            for input in &node.inputs {
                live[input.index()] = true;
            }
        }
    }
    let before = graph.nodes.len();
    let mut kept = keep.into_iter();
    graph.nodes.retain(|_| kept.next().unwrap_or(false));
    let changes = before - graph.nodes.len();
    Report {
        pass: "dead code",
        changes,
        summary: format!("{changes} of {before} nodes dropped"),
    }
}
