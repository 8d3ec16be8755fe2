//! Passes over a graph, in the order in which they run.
//!
//! 1. [`hoist_time`]: what is constant over time is computed once and never repeated in memory.
//! 2. [`dead_code`]: what nobody reads is dropped.
//! 3. [`widen`]: products and draws write the type that their reader casts to.
//! 4. [`fuse`]: elementwise operations that feed each other become one.
//! 5. [`checkpoint`]: neuron scans keep some states on their way, where the target wants it.
//! 6. [`save`]: what the backward pass reads of the forward pass, and what it makes again.
//! 7. [`narrow`]: binary values travel as bits where their readers can use them.
//!
//! One pass runs before gradients are taken, where it was asked for: [`precision`] stores
//! sequences in 16 bits. Liveness and the arena follow in [`crate::Plan`].

pub mod checkpoint;
pub mod dead_code;
pub mod fuse;
pub mod hoist_time;
pub mod narrow;
pub mod precision;
pub mod save;
pub mod widen;

use crate::backend::Target;
use crate::graph::Graph;

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

/// Runs all passes for a target.
pub fn run_all(graph: &mut Graph, target: &dyn Target) -> Vec<Report> {
    let mut reports = vec![hoist_time::run(graph), dead_code::run(graph)];
    let changed = |report: &Report| report.changes > 0;
    reports.extend(Some(widen::run(graph)).filter(changed));
    reports.push(fuse::run(graph));
    reports.extend(Some(checkpoint::run(graph, target)).filter(changed));
    reports.push(save::run(graph));
    dead_code::run(graph);
    reports.push(narrow::run(graph, target));
    reports
}
