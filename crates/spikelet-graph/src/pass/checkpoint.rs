//! Stores the states of some time steps of a neuron scan for its backward pass.
//!
//! ```text
//! %2, %3, %4 = scan[lif, T=50](%0, %1)        %2, %3, %4, %9 = scan[lif, T=50, checkpoint every 10](%0, %1)
//! …                                       →   …
//! %7, %8 = scan_grad[lif, T=50](%0, %1, %6)   %7, %8 = scan_grad[lif, T=50, checkpoint every 10](%0, %1, %6, %9)
//! ```
//!
//! A backward pass needs the states before every step, last step first. A device whose caches hold
//! all of them recomputes them from the initial states; any other device would write and read them
//! all. With checkpoints it recomputes one stretch at a time, whose length the target selects
//! ([`scan_checkpoint`](crate::SchedulingPolicy::scan_checkpoint)). The bits stay the same: a
//! checkpoint is the value that would be recomputed.
//!
//! It runs before [`super::recompute_cheap`]: the forward and the backward scan belong together
//! because they read the same operands, and that pass replaces operands of backward nodes.

use super::Report;
use crate::graph::{Graph, ValueId};
use crate::op::{Op, Scan, ScanGrad};
use crate::rewrite::{NodeId, Rewriter};
use crate::target::SchedulingPolicy;
use crate::types::TensorType;
use std::sync::Arc;

/// Lets scans store states for their backward passes where the target asks for it.
pub fn run(graph: &mut Graph, target: &dyn SchedulingPolicy) -> Report {
    let mut bytes = 0_usize;
    let changes = Rewriter::new(graph).apply(|graph, backward| {
        let grad = graph.op::<ScanGrad>(backward)?;
        if grad.checkpoint.is_some() {
            return None;
        }
        let forward = forward_scan(graph, backward)?;
        let scan = graph.op::<Scan>(forward)?;
        let wanted = target.scan_checkpoint(graph.graph(), graph.node(backward));
        let every = scan.checkpoint.or(wanted)?;
        if every == 0 || every >= scan.time_steps || scan.recurrence.states.is_empty() {
            return None;
        }
        let states = store(graph, forward, every)?;
        let sizes = states.iter().map(|v| graph.ty(*v).bytes());
        bytes = sizes.fold(bytes, usize::saturating_add);
        let mut node = graph.node(backward).clone();
        if let Op::ScanGrad(grad) = &mut node.op {
            grad.checkpoint = Some(every);
        }
        node.inputs.extend(states);
        graph.set(backward, node);
        Some(())
    });
    Report {
        pass: "gradient checkpointing",
        changes,
        summary: format!("{changes} neuron scans store states every few steps ({bytes} bytes)"),
    }
}

/// The scan that a backward scan belongs to: the same step over the same operands.
fn forward_scan(graph: &Rewriter<'_>, backward: NodeId) -> Option<NodeId> {
    let grad = graph.op::<ScanGrad>(backward)?;
    let inputs = &graph.node(backward).inputs;
    let fits = |forward: &NodeId| {
        let Some(scan) = graph.op::<Scan>(*forward) else {
            return false;
        };
        graph.precedes(*forward, backward)
            && Arc::ptr_eq(&scan.recurrence, &grad.recurrence)
            && scan.time_steps == grad.time_steps
            && inputs.starts_with(&graph.node(*forward).inputs)
    };
    graph.readers(*inputs.first()?).into_iter().rev().find(fits)
}

/// The states that a scan stores, from now on if it did not before.
fn store(graph: &mut Rewriter<'_>, forward: NodeId, every: usize) -> Option<Vec<ValueId>> {
    let mut node = graph.node(forward).clone();
    let types: Vec<TensorType> = node.inputs.iter().map(|v| graph.ty(*v).clone()).collect();
    let Op::Scan(scan) = &mut node.op else {
        return None;
    };
    let first = scan.first_checkpoint();
    if scan.checkpoint.is_none() {
        let ty = scan.checkpoint_type(&types, every);
        let states = scan.recurrence.states.iter();
        let values = states.map(|_| graph.add_value(ty.clone()));
        node.outputs.extend(values);
        scan.checkpoint = Some(every);
        graph.set(forward, node);
    }
    Some(graph.node(forward).outputs[first..].to_vec())
}
