//! Lets an operation write the type that its only reader casts its result to.
//!
//! ```text
//! %2 = matmul[aᵀ·b](%0, %1)  bf16[10, 784]
//! %3 = map[x0](%2)           f32[10, 784]      →     %3 = matmul[aᵀ·b](%0, %1)  f32[10, 784]
//! ```
//!
//! The gradient of a weight is such a matrix product: its operands are 16-bit, it accumulates in
//! f32, and the optimizer reads f32. Allowed because the f32 product has one rounding less, and
//! because a draw of zeros and ones is exact in every type.

use super::Report;
use crate::graph::Graph;
use crate::op::{Map, Operation};
use crate::rewrite::{NodeId, Rewriter};
use crate::semantics::Storage;
use crate::types::DType;

/// Folds casts into matrix products and draws.
pub fn run(graph: &mut Graph) -> Report {
    let changes = Rewriter::new(graph).apply(fold);
    Report {
        pass: "casts of results",
        changes,
        summary: format!("{changes} products and draws write what their reader casts to"),
    }
}

fn fold(graph: &mut Rewriter<'_>, cast: NodeId) -> Option<()> {
    let map = graph.op::<Map>(cast)?;
    let (from, to) = (graph.node(cast).inputs[0], graph.node(cast).outputs[0]);
    if !map.is_identity() || graph.shape(from) != map.shape || graph.use_count(from) != 1 {
        return None;
    }
    let producer = graph.producer(from)?;
    let (given, wanted) = (graph.ty(from).dtype, graph.ty(to).dtype);
    let mut node = graph.node(producer).clone();
    let is_as_exact = match node.op.storage() {
        Storage::Product => given.is_half() && wanted == DType::F32,
        Storage::Drawn => node.op.is_binary(0),
        _ => false,
    };
    node.op = node.op.stored_as(wanted).filter(|_| is_as_exact)?;
    node.outputs = vec![to];
    graph.remove(cast);
    graph.set(producer, node);
    Some(())
}
