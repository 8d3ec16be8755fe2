//! Lets backward scans sum the gradients of parameters that a channel shares.
//!
//! ```text
//! %7, %8 = scan_grad[if](%x, %scale, %g)   f32[.., C], f32[N, H, W, C]
//! %9 = sum[0, 1, 2](%8)                    f32[C]
//!                                       →  %7, %9 = scan_grad[if, channel sums](%x, %scale, %g)
//! ```
//!
//! Done only where the target can, and where every parameter's gradient that is read is read as
//! its sum over all axes but the last. Allowed because the same numbers are summed.

use super::Report;
use crate::backend::Target;
use crate::graph::{Graph, Node};
use crate::op::{Op, Reduce, Reduction, Reshape};
use crate::types::{DType, TensorType};

/// Takes sums into backward scans.
pub fn run(graph: &mut Graph, target: &dyn Target) -> Report {
    let mut changes = 0;
    let readers = only_readers(graph);
    for k in 0..graph.nodes.len() {
        let asked = !graph.disable_fusion && matches!(graph.nodes[k].op, Op::ScanGrad(_));
        if asked && target.sums_channels(graph, &graph.nodes[k]) && take_sums(graph, k, &readers) {
            changes += 1;
        }
    }
    super::dead_code::run(graph);
    Report {
        pass: "sums in backward scans",
        changes,
        summary: format!("{changes} backward scans sum by channel"),
    }
}

/// Who reads a value.
#[derive(Clone, Copy)]
enum Readers {
    Nobody,
    /// One node, once.
    Node(usize),
    /// Several, or the caller.
    Others,
}

/// Who reads each value. Taking the sums of one scan changes nothing of another's.
fn only_readers(graph: &Graph) -> Vec<Readers> {
    let mut readers = vec![Readers::Nobody; graph.values()];
    for (k, node) in graph.nodes.iter().enumerate() {
        for value in &node.inputs {
            let reader = &mut readers[value.index()];
            *reader = match reader {
                Readers::Nobody => Readers::Node(k),
                _ => Readers::Others,
            };
        }
    }
    for output in &graph.outputs {
        readers[output.value.index()] = Readers::Others;
    }
    readers
}

/// Whether the reduction sums everything but the last axis of `shape`.
fn is_channel_sum(op: &Reduce, shape: &[usize]) -> bool {
    let last = shape.len() - 1;
    let covered = |k: usize| shape[k] == 1 || op.axes.contains(&k);
    op.reduction == Reduction::Sum && (0..last).all(covered) && !op.axes.contains(&last)
}

/// Makes the sums of all parameters' gradients part of the scan.
fn take_sums(graph: &mut Graph, k: usize, readers: &[Readers]) -> bool {
    let node = graph.nodes[k].clone();
    let Op::ScanGrad(op) = &node.op else {
        return false;
    };
    let first = op.recurrence.inputs.len() + op.recurrence.states.len();
    let mut sums = vec![];
    for &value in &node.outputs[first..] {
        let at = match readers[value.index()] {
            Readers::Nobody => continue,
            Readers::Node(at) => at,
            Readers::Others => return false,
        };
        match &graph.nodes[at].op {
            Op::Reduce(reduce)
                if is_channel_sum(reduce, graph.shape(value))
                    && graph.ty(graph.nodes[at].outputs[0]).dtype == DType::F32 =>
            {
                sums.push((value, at));
            }
            _ => return false,
        }
    }
    if sums.is_empty() || op.channel_sums {
        return false;
    }
    let mut op = op.clone();
    op.channel_sums = true;
    let channels = graph.shape(node.inputs[0]).last().copied().unwrap_or(1);
    let mut outputs = node.outputs.clone();
    for (value, at) in sums {
        let ty = TensorType::new(DType::F32, [channels]);
        let made = graph.add_value(ty);
        if let Some(place) = outputs.iter().position(|v| *v == value) {
            outputs[place] = made;
        }
        let shape = graph.shape(graph.nodes[at].outputs[0]).to_vec();
        let reduce = &mut graph.nodes[at];
        reduce.inputs = vec![made];
        reduce.op = Reshape { shape }.into();
    }
    // Gradients that nobody reads have the new type as well.
    for (place, old) in node.outputs.iter().enumerate().skip(first) {
        if outputs[place] == *old {
            outputs[place] = graph.add_value(TensorType::new(DType::F32, [channels]));
        }
    }
    graph.nodes[k] = Node {
        op: op.into(),
        outputs,
        ..node
    };
    true
}
