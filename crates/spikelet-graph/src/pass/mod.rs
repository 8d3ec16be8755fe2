//! Passes over a graph, in the order in which they run.
//!
//! 1. [`hoist_time`]: what is constant over time is computed once and never repeated in memory.
//! 2. [`dead_code`]: what nobody reads is dropped.
//! 3. [`widen`]: products and draws write the type that their reader casts to.
//! 4. [`fuse`]: elementwise operations that feed each other become one.
//! 5. [`channel_sums`]: backward scans sum the gradients that a channel shares.
//! 6. [`checkpoint`]: neuron scans keep some states on their way, where the target wants it.
//! 7. [`save`]: what the backward pass reads of the forward pass, and what it makes again.
//! 8. [`narrow`]: binary values travel as bits where their readers can use them.
//! 9. [`early_updates`]: large parameters are updated as soon as their gradients are there.
//!
//! Four passes run before gradients are taken, so that the backward pass is that of what they
//! leave: [`hoist_time`]; [`layout`], which keeps images channels-last; [`precision`], which stores
//! sequences in 16 bits where that was asked for; [`absorb`], which takes normalization and pooling
//! into the neurons. In [`crate::Plan`] follow, where memory is short, [`budget`], then [`parts`],
//! which cuts what is large, then liveness and the arena.
//!
//! The rule about bits: passes run the same operations on the same numbers, so that results keep
//! their bits. Exceptions: [`precision`], [`widen`] and [`absorb`] leave out roundings;
//! [`channel_sums`] and [`parts`] let sums be taken in another order; and [`hoist_time`] multiplies a
//! step by T where T equal steps were to be added.

pub mod bit_pack_spikes;
pub mod channel_sums;
pub mod checkpoint;
pub mod dead_code;
pub mod early_updates;
pub mod fold_casts;
pub mod fuse;
pub mod fuse_affine_into_scan;
pub mod hoist_time;
pub mod layout;
mod links;
pub mod precision;
pub mod recompute_cheap;
pub mod rematerialize;
pub mod time_chunking;

use crate::backend::Target;
use crate::graph::Graph;
use crate::precision::Precision;

/// What a pass did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The pass.
    pub pass: &'static str,
    /// How many places it changed.
    pub changes: usize,
    /// One sentence for people.
    pub summary: String,
}

/// Prepares a graph that was traced for its gradients. The numbers of its values stay what they
/// were.
pub fn prepare(graph: &mut Graph, precision: Precision) {
    hoist_time::run(graph);
    layout::run(graph);
    precision::run(graph, precision);
    fuse_affine_into_scan::run(graph);
}

/// Runs all passes for a target.
pub fn run_all(graph: &mut Graph, target: &dyn Target) -> Vec<Report> {
    graph.forget_uses();
    let mut reports = vec![hoist_time::run(graph), dead_code::run(graph)];
    let changed = |report: &Report| report.changes > 0;
    reports.extend(Some(fold_casts::run(graph)).filter(changed));
    reports.push(fuse::run(graph));
    reports.extend(Some(channel_sums::run(graph, target)).filter(changed));
    reports.extend(Some(checkpoint::run(graph, target)).filter(changed));
    reports.push(recompute_cheap::run(graph));
    dead_code::run(graph);
    reports.push(bit_pack_spikes::run(graph, target));
    reports.extend(Some(early_updates::run(graph)).filter(changed));
    reports
}
