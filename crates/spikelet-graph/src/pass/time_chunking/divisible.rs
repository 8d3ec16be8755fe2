//! The operations that can be divided along time, and how.

use crate::graph::{Graph, Node};
use crate::op::{ConvPart, Op, Port, Ports, Reduction, time_chunk_type};
use crate::types::TensorType;

/// Alignment of the start of a chunk in bytes, sufficient for every kernel.
const ALIGNMENT: usize = 256;

/// Whether its result depends on the number of chunks.
pub(super) fn is_sum(op: &Op) -> bool {
    matches!(op, Op::Conv(_) | Op::MeanVar(_))
}

/// Operations that are divided only where recurrent layers are.
pub(super) fn only_in_divisions(op: &Op) -> bool {
    let feeds_back = op.ports().is_some_and(|op| op.scan().feedback.is_some());
    feeds_back
        || matches!(
            op,
            Op::MatMul(_)
                | Op::Reduce(_)
                | Op::Expand(_)
                | Op::Fill(_)
                | Op::Reshape(_)
                | Op::Loop(_)
        )
}

/// The results that are sums of those of the chunks.
pub(super) fn summed(node: &Node) -> Vec<usize> {
    match &node.op {
        Op::MatMul(op) if op.transpose_a => vec![0],
        Op::Reduce(op) if op.axes.contains(&0) => vec![0],
        // A kernel without feedback adds those of later steps.
        Op::ScanGrad(op) if op.of.feedback.is_some() => {
            op.results_that(&|port| matches!(port, Port::Param(_)))
        }
        _ => vec![],
    }
}

/// The results that are those of the chunk that runs last.
pub(super) fn carried(op: &Op) -> Vec<usize> {
    match op {
        Op::Loop(op) => (0..op.body.carried_count()).collect(),
        Op::Scan(op) => op.results_that(&|port| matches!(port, Port::Last(_))),
        Op::ScanGrad(op) => op.results_that(&|port| match port {
            Port::Param(_) => op.of.feedback.is_none(),
            port => matches!(port, Port::Initial(_) | Port::FirstProduct),
        }),
        _ => vec![],
    }
}

/// Whether the chunks of a tensor are views that every kernel can read and write.
pub(super) fn views_are_aligned(ty: &TensorType, count: usize) -> bool {
    time_chunk_type(ty, count).is_some_and(|chunk| chunk.bytes().is_multiple_of(ALIGNMENT))
}

/// The types of the operands and results that are divided.
pub(super) fn cut_types<'a>(graph: &'a Graph, node: &Node) -> Option<Vec<&'a TensorType>> {
    let (operands, results) = cut_values(graph, node)?;
    let operands = operands.iter().map(|k| node.inputs[*k]);
    let values = operands.chain(results.iter().map(|k| node.outputs[*k]));
    Some(values.map(|v| graph.ty(v)).collect())
}

/// The operands and results of a node that are divided: the first axis of all is time. `None` if the
/// operation cannot be divided.
pub(super) fn cut_values(graph: &Graph, node: &Node) -> Option<(Vec<usize>, Vec<usize>)> {
    let all = |n: usize| (0..n).collect::<Vec<usize>>();
    let rank = |k: usize| graph.shape(node.inputs[k]).len();
    Some(match &node.op {
        Op::Conv(op) => match op.part {
            ConvPart::Weight => (vec![0, 1], vec![]),
            _ => (vec![0], vec![0]),
        },
        Op::MeanVar(_) => (vec![0], vec![]),
        Op::Pool(_) | Op::PoolGrad(_) | Op::Pack(_) => (all(node.inputs.len()), vec![0]),
        Op::Permute(op) if op.order.first() == Some(&0) => (vec![0], vec![0]),
        Op::Map(map) => {
            let sequence = |k: &usize| {
                let shape = graph.shape(node.inputs[*k]);
                shape.len() == map.shape.len() && shape.first() == map.shape.first()
            };
            let cut = all(node.inputs.len()).into_iter().filter(sequence);
            (cut.collect(), all(node.outputs.len()))
        }
        Op::MatMul(op) if !op.transpose_a && rank(0) > 1 => (vec![0], vec![0]),
        Op::MatMul(op) if op.transpose_a && !op.transpose_b => (vec![0, 1], vec![]),
        Op::Reduce(op) if !op.axes.contains(&0) => (vec![0], vec![0]),
        Op::Reduce(op) if op.reduction == Reduction::Sum => {
            let single = !graph.ty(node.outputs[0]).dtype.is_half();
            single.then_some((vec![0], vec![]))?
        }
        Op::Reshape(_) => (vec![0], vec![0]),
        Op::Expand(op) => {
            let shape = graph.shape(node.inputs[0]);
            match shape.len() == op.shape.len() && shape.first() == op.shape.first() {
                true => (vec![0], vec![0]),
                false => (vec![], vec![0]),
            }
        }
        Op::Fill(_) => (vec![], vec![0]),
        Op::Loop(op) => {
            let carried = op.body.carried_count();
            let stacked = (carried..node.outputs.len()).collect();
            (op.sequence_operands().collect(), stacked)
        }
        Op::Scan(_) | Op::ScanGrad(_) => {
            let op = node.op.ports()?;
            let (mut operands, results) = (
                op.operands_that(&Port::is_sequence),
                op.results_that(&Port::is_sequence),
            );
            let constant = |k: &usize| graph.shape(node.inputs[*k])[0] == 1;
            let scan = op.scan();
            let sums = match &node.op {
                Op::ScanGrad(op) => op.channel_sums || operands.iter().any(constant),
                _ => false,
            };
            if sums || scan.pool.is_some() {
                return None;
            }
            if scan.feedback.is_none() {
                operands.retain(|k| !constant(k));
            }
            (operands, results)
        }
        _ => return None,
    })
}
