//! Lets backward scans sum the gradients of parameters that a channel shares.
//!
//! ```text
//! %7, %8 = scan_grad[if](%x, %scale, %g)   f32[.., C], f32[N, H, W, C]
//! %9 = sum[0, 1, 2](%8)                    f32[C]
//!                                       →  %7, %9 = scan_grad[if, channel sums](%x, %scale, %g)
//! ```
//!
//! Done only where the target can ([`SchedulingPolicy::sums_channels`]), and where every parameter's gradient
//! that is read is read as its sum over all axes but the last, or over all axes: of this sum, the one over the channels is
//! left. Allowed because the same elements
//! are summed.

use super::Report;
use crate::graph::Graph;
use crate::op::{Port, Ports, Reduce, Reduction, ScanGrad};
use crate::rewrite::{NodeId, Rewriter};
use crate::target::SchedulingPolicy;
use crate::types::{DType, TensorType};

/// Takes sums into backward scans.
pub fn run(graph: &mut Graph, target: &dyn SchedulingPolicy) -> Report {
    let mut rewriter = Rewriter::new(graph);
    let changes = rewriter.apply(|graph, scan| {
        graph.op::<ScanGrad>(scan)?;
        let fuses = !graph.graph().disable_fusion;
        let able = fuses && target.sums_channels(graph.graph(), graph.node(scan));
        able.then(|| take_sums(graph, scan))?
    });
    rewriter.remove_unread();
    Report {
        pass: "sums in backward scans",
        changes,
        summary: format!("{changes} backward scans sum by channel"),
    }
}

/// Whether the reduction sums everything but the last axis of `shape`.
fn is_channel_sum(op: &Reduce, shape: &[usize]) -> bool {
    let last = shape.len() - 1;
    let covered = |k: usize| shape[k] == 1 || op.axes.contains(&k);
    op.reduction == Reduction::Sum && (0..last).all(covered) && !op.axes.contains(&last)
}

/// Whether the reduction sums all elements of `shape`, of more than one row: the gradient of a parameter that all channels
/// share.
fn is_complete_sum(op: &Reduce, shape: &[usize]) -> bool {
    let all = (0..shape.len()).all(|k| op.axes.contains(&k));
    let rows: usize = shape.iter().rev().skip(1).product();
    op.reduction == Reduction::Sum && all && rows > 1
}

/// Makes the sums of all parameters' gradients part of the scan.
fn take_sums(graph: &mut Rewriter<'_>, scan: NodeId) -> Option<()> {
    let mut node = graph.node(scan).clone();
    let mut op = graph.op::<ScanGrad>(scan)?.clone();
    let params = op.results_that(&|port| matches!(port, Port::Param(_)));
    let mut sums = vec![];
    for &k in &params {
        let value = node.outputs[k];
        if graph.use_count(value) == 0 {
            continue;
        }
        let sum = graph.only_reader(value)?;
        let reduce = graph.op::<Reduce>(sum)?;
        let f32_sum = graph.ty(graph.node(sum).outputs[0]).dtype == DType::F32;
        let shape = graph.shape(value);
        let by_channel = is_channel_sum(reduce, shape);
        if !(by_channel || is_complete_sum(reduce, shape)) || !f32_sum {
            return None;
        }
        sums.push((k, sum, by_channel));
    }
    if sums.is_empty() || op.channel_sums {
        return None;
    }
    let x = node.inputs[op.input(0)];
    op.channel_sums = true;
    node.op = op.into();
    let channels = graph.shape(x).last().copied().unwrap_or(1);
    let ty = TensorType::new(DType::F32, [channels]);
    let mut unread = params;
    for (k, sum, by_channel) in sums {
        node.outputs[k] = graph.add_value(ty.clone());
        unread.retain(|other| *other != k);
        if by_channel {
            graph.set_view(sum, node.outputs[k]);
            graph.remove_if_unread(sum);
        } else {
            // What is left is the sum over the channels.
            graph.set_input(sum, 0, node.outputs[k]);
            graph.set_op(sum, Reduce::sum([0]));
        }
    }
    // Gradients that are not read have the new type as well.
    for k in unread {
        node.outputs[k] = graph.add_value(ty.clone());
    }
    graph.set(scan, node);
    Some(())
}
