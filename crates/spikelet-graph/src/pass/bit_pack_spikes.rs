//! Stores binary values as bits where all their readers can use bits.
//!
//! ```text
//! %1 = bernoulli(%g, %p)  f32[T, N, 784]          %1 = bernoulli(%g, %p)  bits[T, N, 784]
//! %2 = matmul[a·bᵀ](%1, %w)                 →     %2 = matmul[a·bᵀ](%1, %w)   accumulates weight rows
//! ```
//!
//! Allowed because a bit holds a spike exactly. A reshape between the spikes and their readers is
//! first moved before the draw, which numbers its elements in memory order and so draws the
//! same.

use super::Report;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Distribution, Draw, Operation, Reshape};
use crate::rewrite::{NodeId, Rewriter};
use crate::target::SpikeStorage;
use crate::types::DType;

/// Packs what the target can read as bits.
pub fn run(graph: &mut Graph, target: &dyn SpikeStorage) -> Report {
    let mut graph = Rewriter::new(graph);
    let moved = graph.apply(reshape_before_draw);
    let mut changes = 0;
    for producer in graph.order() {
        let binary: Vec<ValueId> = binary_outputs(graph.node(producer)).collect();
        for value in binary {
            let dtype = graph.ty(value).dtype;
            let dense = dtype == DType::F32 || dtype.is_half();
            if dense && can_be_bits(&graph, target, producer, value) {
                graph.set_dtype(value, DType::Bits);
                changes += 1;
            }
        }
    }
    graph.remove_unread();
    Report {
        pass: "spikes as bits",
        changes,
        summary: format!(
            "{changes} spike tensors stored as bits, {moved} reshapes moved before a draw"
        ),
    }
}

/// The results of a node that are zeros and ones.
pub(crate) fn binary_outputs(node: &Node) -> impl Iterator<Item = ValueId> + '_ {
    let outputs = node.outputs.iter().enumerate();
    let binary = outputs.filter(|(at, _)| node.op.is_binary(*at));
    binary.map(|(_, value)| *value)
}

/// Whether a value is read, by nodes only, and its producer and all its readers can use bits.
fn can_be_bits(
    graph: &Rewriter<'_>,
    target: &dyn SpikeStorage,
    producer: NodeId,
    value: ValueId,
) -> bool {
    if graph.output_count(value) > 0 || graph.use_count(value) == 0 {
        return false;
    }
    let reads_bits = |reader: &NodeId| {
        let node = graph.node(*reader);
        let inputs = graph.graph().types(&node.inputs);
        let mut operands = (0..node.inputs.len()).filter(|k| node.inputs[*k] == value);
        operands.all(|k| target.reads_bits(&node.op, &inputs, k))
    };
    let node = graph.node(producer);
    let result = node.outputs.iter().position(|v| *v == value);
    graph.readers(value).iter().all(reads_bits)
        && result
            .is_some_and(|k| target.writes_bits(&node.op, &graph.graph().types(&node.inputs), k))
}

/// `reshape(bernoulli(g, p))` → `bernoulli(g, reshape(p))`, where axis 0 remains time.
fn reshape_before_draw(graph: &mut Rewriter<'_>, reshape: NodeId) -> Option<()> {
    let op = graph.op::<Reshape>(reshape)?;
    let drawn = graph.node(reshape).inputs[0];
    let (producer, draw) = graph.made_by::<Draw>(drawn)?;
    let keeps_time = !draw.over_time || draw.shape.first() == op.shape.first();
    let binary = draw.distribution == Distribution::Bernoulli;
    if !binary || !keeps_time || graph.use_count(drawn) != 1 {
        return None;
    }
    let [generator, p] = graph.node(producer).inputs[..] else {
        return None;
    };
    let shape = reshaped_operand(graph.shape(p), &draw.shape, &op.shape)?;
    let draw = Draw {
        shape: op.shape.clone(),
        ..draw.clone()
    };
    let operand = graph.reshaped(producer, p, shape)?;
    let node = Node {
        op: draw.into(),
        inputs: vec![generator, operand],
        ..graph.node(reshape).clone()
    };
    graph.set(reshape, node);
    graph.remove(producer);
    Some(())
}

/// The shape of a probability operand of a draw that changes its shape.
fn reshaped_operand(p: &[usize], from: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    if p == from {
        return Some(to.to_vec());
    }
    if p.iter().all(|&n| n == 1) {
        return Some(vec![1; to.len()]);
    }
    if p.len() == from.len() && p[0] == 1 && p[1..] == from[1..] {
        let mut shape = to.to_vec();
        shape[0] = 1;
        return Some(shape);
    }
    None
}
