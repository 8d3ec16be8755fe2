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
//! The forward and the backward scan have one [`ScanId`].

use super::Report;
use crate::graph::{Graph, ValueId};
use crate::op::{Op, Port, Ports, Scan, ScanGrad, ScanId};
use crate::rewrite::{NodeId, Rewriter};
use crate::target::SchedulingPolicy;
use crate::types::TensorType;

/// Lets scans store states for their backward passes where the target asks for it.
pub fn run(graph: &mut Graph, target: &dyn SchedulingPolicy) -> Report {
    let mut bytes = 0_usize;
    let changes = Rewriter::new(graph).apply(|graph, backward| {
        let grad = graph.op::<ScanGrad>(backward)?;
        if grad.of.checkpoint.is_some() || grad.of.feedback.is_some() {
            return None;
        }
        let forward = forward_scan(graph, backward, grad.of.id)?;
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
            grad.of.checkpoint = Some(every);
            let at = grad.reads(Port::Checkpoint(0));
            node.inputs.splice(at..at, states);
        }
        graph.set(backward, node);
        Some(())
    });
    Report {
        pass: "gradient checkpointing",
        changes,
        summary: format!("{changes} neuron scans store states every few steps ({bytes} bytes)"),
    }
}

/// The last scan of this id before a backward scan.
fn forward_scan(graph: &Rewriter<'_>, backward: NodeId, id: ScanId) -> Option<NodeId> {
    let is_scan = |k: &NodeId| graph.op::<Scan>(*k).is_some_and(|scan| scan.id == id);
    let mut scans = graph.order().into_iter().rev().filter(is_scan);
    scans.find(|forward| graph.precedes(*forward, backward))
}

/// The states that a scan stores, from now on if it did not before.
fn store(graph: &mut Rewriter<'_>, forward: NodeId, every: usize) -> Option<Vec<ValueId>> {
    let mut node = graph.node(forward).clone();
    let types: Vec<TensorType> = node.inputs.iter().map(|v| graph.ty(*v).clone()).collect();
    let Op::Scan(scan) = &mut node.op else {
        return None;
    };
    if scan.checkpoint.is_none() {
        scan.checkpoint = Some(every);
        let ty = scan.ty(Port::Checkpoint(0), &scan.step(&types));
        let states = scan.recurrence.states.iter();
        let values = states.map(|_| graph.add_value(ty.clone()));
        node.outputs.extend(values);
        graph.set(forward, node.clone());
    }
    let is_stored = |port| matches!(port, Port::Checkpoint(_));
    let stored = node.op.ports()?.results_that(&is_stored).into_iter();
    Some(stored.map(|k| node.outputs[k]).collect())
}
