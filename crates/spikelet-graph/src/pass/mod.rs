//! Passes over a graph.
//!
//! Before differentiation ([`prepare`]), so that the backward pass is the derivative of the rewritten
//! graph:
//!
//! 1. [`hoist_time`]: computes values that are constant over time once, without repeating them in memory.
//! 2. [`layout`]: keeps images channels-last between the operations that need them so.
//! 3. [`hoist_from_loops`]: moves out of loops what does not depend on their carried values.
//! 4. [`fuse_recurrent_scan`]: turns loops around a neuron and its feedback into one operation.
//! 5. [`precision`]: stores sequences in 16 bits, if a 16-bit precision is set.
//! 6. [`fuse_affine_into_scan`]: fuses normalization and pooling into neuron scans.
//! 7. [`hoist_from_loops`] again.
//!
//! For a target, in [`crate::Plan::new`] ([`run_all`]), after [`remove_copies`], which removes what only stopped a gradient,
//! [`prune_loops`], which removes results and operands of loops that are not needed, [`hoist_from_loops`] for the backward
//! pass, and [`unroll`], which writes out the steps of short loops:
//!
//! 1. [`hoist_time`] again, for the backward pass.
//! 2. [`dead_code`]: removes nodes whose results are not read.
//! 3. [`merge_products`]: computes equal matrix products once.
//! 4. [`fold_casts`]: lets matrix products and draws write the type that their reader casts to.
//! 5. [`fuse`]: fuses elementwise operations that feed each other.
//! 6. [`channel_sums`]: lets backward scans sum the gradients of parameters by channel.
//! 7. [`checkpoint`]: lets neuron scans store some of their states, if the target requests it.
//! 8. [`recompute_cheap`]: recomputes cheap values in the backward pass instead of storing them.
//! 9. [`bit_pack_spikes`]: stores spikes as bits where all readers can use bits.
//! 10. [`early_updates`]: updates large parameters as soon as their gradients are computed.
//! 11. [`rematerialize`]: where memory is short ([`crate::Plan::within`]), recomputes more.
//! 12. [`time_chunking`]: runs operations on large sequences in chunks of time steps, and lets recurrent layers
//!     overlap in time ([`time_chunking::overlap`]).
//!
//! Each pass is written on the toolkit of [`crate::rewrite`]. A graph that an operation owns, such as
//! the body of a loop, goes through the same passes.
//!
//! Results keep their bits: passes run the same operations on the same elements. There are three
//! exceptions: [`precision`], [`fold_casts`] and [`fuse_affine_into_scan`] leave out roundings;
//! [`channel_sums`], [`time_chunking`] and [`fuse_recurrent_scan`] change the order of sums, and so may
//! [`hoist_from_loops`];
//! [`hoist_time`] multiplies a step by T instead of adding T equal steps.

pub mod bit_pack_spikes;
pub mod channel_sums;
pub mod checkpoint;
pub mod dead_code;
pub mod early_updates;
pub mod fold_casts;
pub mod fuse;
pub mod fuse_affine_into_scan;
pub mod fuse_recurrent_scan;
pub mod hoist_from_loops;
pub mod hoist_time;
pub mod layout;
pub mod merge_products;
pub mod precision;
pub mod prune_loops;
pub mod recompute_cheap;
pub mod rematerialize;
pub mod remove_copies;
pub mod time_chunking;
pub mod unroll;

use crate::graph::Graph;
use crate::precision::Precision;
use crate::rewrite::for_each_graph;
use crate::target::Target;

/// The result of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The name of the pass.
    pub pass: &'static str,
    /// The number of changes.
    pub changes: usize,
    /// A summary in one sentence.
    pub summary: String,
}

/// Prepares a traced graph for its gradients. Values keep their ids.
pub fn prepare(graph: &mut Graph, precision: Precision) {
    for_each_graph(graph, &mut |graph| {
        hoist_time::run(graph);
        layout::run(graph);
        hoist_from_loops::run(graph);
        fuse_recurrent_scan::run(graph);
    });
    for_each_graph(graph, &mut |graph| {
        precision::run(graph, precision);
        fuse_affine_into_scan::run(graph);
        hoist_from_loops::run(graph);
    });
}

/// A pass for a target, and whether its report is shown where nothing was changed.
type Step = (fn(&mut Graph, &dyn Target) -> Report, bool);

/// The passes of [`run_all`], in order.
const STEPS: [Step; 10] = [
    (|graph, _| hoist_time::run(graph), true),
    (|graph, _| dead_code::run(graph), true),
    (|graph, _| merge_products::run(graph), false),
    (|graph, _| fold_casts::run(graph), false),
    (|graph, _| fuse::run(graph), true),
    (|graph, target| channel_sums::run(graph, target), false),
    (|graph, target| checkpoint::run(graph, target), false),
    (|graph, _| recompute_cheap::run(graph), true),
    (|graph, target| bit_pack_spikes::run(graph, target), true),
    (|graph, _| early_updates::run(graph), false),
];

/// Runs all passes for a target but [`unroll`].
pub fn run_all(graph: &mut Graph, target: &dyn Target) -> Vec<Report> {
    run(graph, target, false)
}

/// As [`run_all`], with [`unroll`].
pub(crate) fn run_all_unrolled(graph: &mut Graph, target: &dyn Target) -> Vec<Report> {
    run(graph, target, true)
}

fn run(graph: &mut Graph, target: &dyn Target, unroll: bool) -> Vec<Report> {
    graph.forget_uses();
    let copies = in_every_graph(graph, &mut remove_copies::run);
    // From the outermost graph inwards: which results of a loop are read decides about its body.
    let pruned = prune_loops::run(graph);
    let hoisted = in_every_graph(graph, &mut hoist_from_loops::run);
    let mut reports = vec![hoisted, pruned, copies];
    if unroll {
        reports.push(unroll::run(graph, target));
    }
    reports.retain(|report| report.changes > 0);
    for (pass, always) in STEPS {
        let report = in_every_graph(graph, &mut |graph| pass(graph, target));
        reports.extend(Some(report).filter(|report| always || report.changes > 0));
    }
    reports
}

/// Runs a pass over a graph and the graphs that its operations own. The report counts the changes
/// of all of them; its sentence is about the outermost graph.
pub(crate) fn in_every_graph(
    graph: &mut Graph,
    pass: &mut dyn FnMut(&mut Graph) -> Report,
) -> Report {
    let (mut inside, mut last) = (0, None);
    for_each_graph(graph, &mut |graph| {
        let report = pass(graph);
        inside += report.changes;
        last = Some(report);
    });
    let last = last.expect("a graph is visited after those inside it");
    Report {
        changes: inside,
        ..last
    }
}
