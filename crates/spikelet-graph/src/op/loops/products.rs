//! Weights of products in the body of a loop, whose gradients are one product over all steps.

use super::LoopBody;
use crate::backward::Backward;
use crate::error::Result;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{ConvPart, Op};

/// A product of a value with an invariant weight.
pub(super) struct Product {
    /// The number of the invariant.
    pub(super) invariant: usize,
    /// The index of the node in the body.
    node: usize,
    /// The result of the product.
    pub(super) result: ValueId,
    /// The operand that is multiplied.
    pub(super) factor: Factor,
}

/// Where the values of a factor at all steps come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    /// A carried value before each step, up to its shape.
    Before(usize),
    /// A sequence, up to its shape.
    Sequence(usize),
    /// A value that the body computes.
    Computed(ValueId),
}

/// The products of an invariant, if it is only read as their weight.
pub(super) fn products(body: &LoopBody, invariant: usize) -> Option<Vec<Product>> {
    let graph = body.graph();
    let weight = body.invariant_inputs().nth(invariant)?;
    if graph.outputs.iter().any(|output| output.value == weight) {
        return None;
    }
    let mut found = vec![];
    for (at, node) in graph.nodes.iter().enumerate() {
        if !node.inputs.contains(&weight) {
            continue;
        }
        if !is_product(graph, node, weight) {
            return None;
        }
        found.push(Product {
            invariant,
            node: at,
            result: node.outputs[0],
            factor: factor(body, node.inputs[0]),
        });
    }
    Some(found)
}

/// Whether the node multiplies a step `[1, …]` by the weight, so that the same operation multiplies all steps.
fn is_product(graph: &Graph, node: &Node, weight: ValueId) -> bool {
    let [x, w] = node.inputs[..] else {
        return false;
    };
    let shape = graph.shape(x);
    let fits = match &node.op {
        Op::MatMul(op) => !op.transpose_a && shape.len() > 1,
        Op::Conv(op) => op.part == ConvPart::Forward && shape.len() > op.axes() + 2,
        _ => false,
    };
    fits && w == weight && x != weight && shape[0] == 1
}

/// Where the value comes from, through views.
fn factor(body: &LoopBody, value: ValueId) -> Factor {
    let graph = body.graph();
    let mut source = value;
    loop {
        if let Some(k) = body.carried_inputs().position(|v| v == source) {
            return Factor::Before(k);
        }
        if let Some(k) = body.sequence_inputs().position(|v| v == source) {
            return Factor::Sequence(k);
        }
        let producer = graph
            .nodes
            .iter()
            .find(|node| node.outputs.contains(&source));
        match producer {
            Some(node) if matches!(node.op, Op::Reshape(_)) => source = node.inputs[0],
            _ => return Factor::Computed(value),
        }
    }
}

impl Product {
    /// The gradient of the weight: `factor` and `grad` are the operand and the gradient of the result at all steps.
    pub(super) fn gradient(
        &self,
        b: &mut Backward<'_>,
        body: &LoopBody,
        factor: ValueId,
        weight: ValueId,
        grad: ValueId,
    ) -> Result<Option<ValueId>> {
        let node = &body.graph().nodes[self.node];
        // The steps of the factor are those of the gradient.
        let mut shape = body.graph().shape(node.inputs[0]).to_vec();
        shape[0] = b.graph.shape(grad)[0];
        let factor = b.reshape(factor, shape)?;
        b.gradient_of(&node.op, &[factor, weight], grad, 1)
    }
}
