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
use crate::graph::Graph;
use crate::rewrite::Rewriter;

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
