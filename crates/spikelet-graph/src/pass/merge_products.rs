//! Computes equal matrix products once.
//!
//! ```text
//! %3 = matmul(%1, %2)
//! %4 = matmul(%1, %2)        →     %4 is %3
//! ```
//!
//! EventProp traces a product twice, once for the gradient of each factor. A product that is a result of the graph stays.

use super::Report;
use crate::graph::Graph;
use crate::op::MatMul;
use crate::rewrite::{NodeId, Rewriter};

/// Merges products.
pub fn run(graph: &mut Graph) -> Report {
    let changes = Rewriter::new(graph).apply(merge);
    Report {
        pass: "products",
        changes,
        summary: format!("{changes} matrix products computed once instead of twice"),
    }
}

fn merge(graph: &mut Rewriter<'_>, again: NodeId) -> Option<()> {
    let op = graph.op::<MatMul>(again)?;
    let node = graph.node(again);
    let result = node.outputs[0];
    if graph.output_count(result) > 0 {
        return None;
    }
    let first = graph.readers(node.inputs[0]).into_iter().find(|other| {
        let same = graph.op::<MatMul>(*other) == Some(op)
            && graph.node(*other).inputs == node.inputs
            && graph.ty(graph.node(*other).outputs[0]) == graph.ty(result);
        same && graph.precedes(*other, again)
    })?;
    let known = graph.node(first).outputs[0];
    graph.replace(result, known);
    graph.remove(again);
    Some(())
}
