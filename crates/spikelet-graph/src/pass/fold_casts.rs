//! Lets an operation write the type that its only reader casts its result to.
//!
//! ```text
//! %2 = matmul[aᵀ·b](%0, %1)  bf16[10, 784]
//! %3 = map[x0](%2)           f32[10, 784]      →     %3 = matmul[aᵀ·b](%0, %1)  f32[10, 784]
//! ```
//!
//! The gradient of a weight is such a product: it was multiplied in 16 bits, its sums are f32
//! anyway, and the optimizer wants f32. Allowed because a product in f32 is nearer to what is
//! meant than one that was rounded in between, and because a draw of zeros and ones is exact in
//! every type.

use super::Report;
use crate::graph::Graph;
use crate::op::{Distribution, Op};
use crate::types::DType;

/// Takes casts into products and draws.
pub fn run(graph: &mut Graph) -> Report {
    let (uses, producers) = (graph.use_counts(), graph.producers());
    let mut taken = vec![false; graph.nodes.len()];
    for (k, taken) in taken.iter_mut().enumerate() {
        let node = &graph.nodes[k];
        let Op::Map(map) = &node.op else { continue };
        let (from, to) = (node.inputs[0], node.outputs[0]);
        let same_shape = graph.shape(from) == map.shape;
        if !map.is_identity() || !same_shape || uses[from.index()] != 1 {
            continue;
        }
        let Some(m) = producers[from.index()] else {
            continue;
        };
        let (given, wanted) = (graph.ty(from).dtype, graph.ty(to).dtype);
        match &mut graph.nodes[m].op {
            Op::MatMul(op) if given.is_half() && wanted == DType::F32 => op.out = Some(wanted),
            Op::Draw(op) if op.distribution == Distribution::Bernoulli => op.dtype = wanted,
            _ => continue,
        }
        graph.nodes[m].outputs = vec![to];
        *taken = true;
    }
    let changes = taken.iter().filter(|t| **t).count();
    let mut taken = taken.into_iter();
    graph.nodes.retain(|_| !taken.next().unwrap_or(false));
    Report {
        pass: "casts of results",
        changes,
        summary: format!("{changes} products and draws write what their reader casts to"),
    }
}
