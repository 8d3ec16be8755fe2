//! Keeps the states of some time steps of a neuron scan for its backward pass.
//!
//! ```text
//! %2, %3, %4 = scan[lif, T=50](%0, %1)        %2, %3, %4, %9 = scan[lif, T=50, kept every 10](%0, %1)
//! …                                       →   …
//! %7, %8 = scan_grad[lif, T=50](%0, %1, %6)   %7, %8 = scan_grad[lif, T=50, kept every 10](%0, %1, %6, %9)
//! ```
//!
//! A backward pass needs the states before every step, last step first. A device with room for
//! all of them in its caches computes them again from the initial ones; another one would write
//! and read them all. With some of them kept, it computes one stretch at a time again. How long a
//! stretch is the target says. Allowed because what is kept is what would be computed again.
//!
//! It runs before it is decided what the backward pass makes again: as long as the backward scan
//! reads the very operands of the forward one, the two find each other.

use super::Report;
use crate::backend::Target;
use crate::graph::{Graph, ValueId};
use crate::op::{Op, ScanGrad};
use crate::types::TensorType;
use std::collections::HashMap;
use std::sync::Arc;

/// Lets scans keep states for their backward passes where the target asks for it.
pub fn run(graph: &mut Graph, target: &dyn Target) -> Report {
    let mut changes = 0;
    let mut bytes = 0_usize;
    let scans = scans(graph);
    for k in 0..graph.nodes.len() {
        let Op::ScanGrad(grad) = &graph.nodes[k].op else {
            continue;
        };
        if grad.checkpoint.is_some() {
            continue;
        }
        let Some(f) = forward_of(graph, &scans, k, grad) else {
            continue;
        };
        let Op::Scan(scan) = &graph.nodes[f].op else {
            continue;
        };
        let wanted = target.scan_checkpoint(graph, &graph.nodes[k]);
        let Some(every) = scan.checkpoint.or(wanted) else {
            continue;
        };
        if every == 0 || every >= scan.time_steps || scan.recurrence.states.is_empty() {
            continue;
        }
        let kept = keep(graph, f, every);
        for value in &kept {
            bytes = bytes.saturating_add(graph.ty(*value).bytes());
        }
        let node = &mut graph.nodes[k];
        if let Op::ScanGrad(grad) = &mut node.op {
            grad.checkpoint = Some(every);
            node.inputs.extend(kept);
        }
        changes += 1;
    }
    Report {
        pass: "states kept for the backward pass",
        changes,
        summary: format!("{changes} neuron scans keep states on their way ({bytes} bytes)"),
    }
}

/// The forward scans over each sequence.
fn scans(graph: &Graph) -> HashMap<ValueId, Vec<usize>> {
    let mut scans: HashMap<ValueId, Vec<usize>> = HashMap::new();
    for (k, node) in graph.nodes.iter().enumerate() {
        if let (Op::Scan(_), Some(first)) = (&node.op, node.inputs.first()) {
            scans.entry(*first).or_default().push(k);
        }
    }
    scans
}

/// The scan that the backward scan `k` belongs to: the same step over the same operands.
fn forward_of(
    graph: &Graph,
    scans: &HashMap<ValueId, Vec<usize>>,
    k: usize,
    grad: &ScanGrad,
) -> Option<usize> {
    let inputs = &graph.nodes[k].inputs;
    let fits = |f: &&usize| match &graph.nodes[**f].op {
        Op::Scan(scan) => {
            **f < k
                && Arc::ptr_eq(&scan.recurrence, &grad.recurrence)
                && scan.time_steps == grad.time_steps
                && inputs.starts_with(&graph.nodes[**f].inputs)
        }
        _ => false,
    };
    scans.get(inputs.first()?)?.iter().rev().find(fits).copied()
}

/// The states that scan `f` keeps, after it was told to.
fn keep(graph: &mut Graph, f: usize, every: usize) -> Vec<ValueId> {
    let node = &graph.nodes[f];
    let types: Vec<TensorType> = node.inputs.iter().map(|v| graph.ty(*v).clone()).collect();
    let Op::Scan(scan) = &node.op else {
        return vec![];
    };
    let (first, states) = (scan.first_checkpoint(), scan.recurrence.states.len());
    let kept = scan.checkpoint_type(&types, every);
    if scan.checkpoint.is_none() {
        let values: Vec<ValueId> = (0..states).map(|_| graph.add_value(kept.clone())).collect();
        let node = &mut graph.nodes[f];
        node.outputs.extend(values);
        if let Op::Scan(scan) = &mut node.op {
            scan.checkpoint = Some(every);
        }
    }
    graph.nodes[f].outputs[first..].to_vec()
}
