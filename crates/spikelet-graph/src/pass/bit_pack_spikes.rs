//! Stores binary values as bits where everyone who reads them can use bits.
//!
//! ```text
//! %1 = bernoulli(%g, %p)  f32[T, N, 784]          %1 = bernoulli(%g, %p)  bits[T, N, 784]
//! %2 = matmul[a·bᵀ](%1, %w)                 →     %2 = matmul[a·bᵀ](%1, %w)   accumulates weight rows
//! ```
//!
//! Allowed because a bit holds a spike exactly. A reshape between the spikes and their readers is
//! first moved in front of the draw, which numbers its elements in memory order and so draws the
//! same.

use super::Report;
use crate::backend::Target;
use crate::graph::{Graph, Node, ValueId};
use crate::op::{Distribution, Op, Reshape};
use crate::types::DType;
use std::collections::HashMap;

/// Narrows what the target can read as bits.
pub fn run(graph: &mut Graph, target: &dyn Target) -> Report {
    let moved = reshape_before_draw(graph);
    let nodes = graph.nodes.iter().enumerate();
    let binary = nodes.flat_map(|(k, n)| binary_outputs(n).into_iter().map(move |v| (k, v)));
    let candidates: Vec<(usize, ValueId)> = binary.collect();
    let mut changes = 0;
    let readers = readers(graph);
    for (maker, value) in candidates {
        let dtype = graph.ty(value).dtype;
        let wide = dtype == DType::F32 || dtype.is_half();
        let read = readers.get(&value).filter(|_| wide);
        if read.is_some_and(|read| all_can_read_bits(graph, target, maker, value, read)) {
            graph.set_dtype(value, DType::Bits);
            changes += 1;
        }
    }
    super::dead_code::run(graph);
    Report {
        pass: "spikes as bits",
        changes,
        summary: format!(
            "{changes} spike tensors stored as bits, {moved} reshapes moved before a draw"
        ),
    }
}

fn binary_outputs(node: &Node) -> Vec<ValueId> {
    match &node.op {
        Op::Draw(op) if op.distribution == Distribution::Bernoulli => node.outputs.clone(),
        Op::Scan(op) => {
            let outputs = op.recurrence.outputs.iter().zip(&node.outputs);
            outputs.filter(|(o, _)| o.binary).map(|(_, v)| *v).collect()
        }
        _ => vec![],
    }
}

/// Where each value is read: nodes and their operands. What the caller gets is not among them.
fn readers(graph: &Graph) -> HashMap<ValueId, Vec<(usize, usize)>> {
    let mut readers: HashMap<ValueId, Vec<(usize, usize)>> = HashMap::new();
    for (k, node) in graph.nodes.iter().enumerate() {
        for (operand, value) in node.inputs.iter().enumerate() {
            readers.entry(*value).or_default().push((k, operand));
        }
    }
    for output in &graph.outputs {
        readers.remove(&output.value);
    }
    readers
}

fn all_can_read_bits(
    graph: &Graph,
    target: &dyn Target,
    maker: usize,
    value: ValueId,
    readers: &[(usize, usize)],
) -> bool {
    let reads =
        |(k, operand): &(usize, usize)| target.reads_bits(graph, &graph.nodes[*k], *operand);
    readers.iter().all(reads) && target.writes_bits(graph, &graph.nodes[maker], value)
}

/// `reshape(bernoulli(g, p))` → `bernoulli(g, reshape(p))`, where axis 0 stays the time.
fn reshape_before_draw(graph: &mut Graph) -> usize {
    let (uses, mut producers) = (graph.use_counts(), graph.producers());
    let mut moved = 0;
    for k in 0..graph.nodes.len() {
        let Op::Reshape(reshape) = graph.nodes[k].op.clone() else {
            continue;
        };
        let from = graph.nodes[k].inputs[0];
        let Some(d) = producers[from.index()].filter(|d| *d < k) else {
            continue;
        };
        let Op::Draw(mut draw) = graph.nodes[d].op.clone() else {
            continue;
        };
        let keeps_time = !draw.over_time || draw.shape.first() == reshape.shape.first();
        if draw.distribution != Distribution::Bernoulli || uses[from.index()] != 1 || !keeps_time {
            continue;
        }
        let p = graph.nodes[d].inputs[1];
        let Some(shape) = reshaped_operand(graph.shape(p), &draw.shape, &reshape.shape) else {
            continue;
        };
        let layer = graph.nodes[d].layer.clone();
        let Ok(node) = graph.make_node(Reshape { shape }.into(), &[p], &layer, false) else {
            continue;
        };
        draw.shape = reshape.shape.clone();
        let generator = graph.nodes[d].inputs[0];
        graph.nodes[k] = Node {
            op: draw.into(),
            inputs: vec![generator, node.outputs[0]],
            ..graph.nodes[k].clone()
        };
        graph.nodes[d] = node;
        // Nobody makes what was drawn before; the new operand is no draw's result.
        producers[from.index()] = None;
        producers.resize(graph.values(), None);
        moved += 1;
    }
    moved
}

/// The shape of a probability operand when its draw goes from one shape to another.
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
