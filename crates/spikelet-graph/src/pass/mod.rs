//! Passes over a graph, in the order in which they run.
//!
//! 1. [`hoist_time`]: what is constant over time is computed once and never repeated in memory.
//! 2. [`dead_code`]: what nobody reads is dropped.
//! 3. [`fuse`]: elementwise operations that feed each other become one.
//! 4. [`checkpoint`]: neuron scans keep some states on their way, where the target wants it.
//! 5. [`save`]: what the backward pass reads of the forward pass, and what it makes again.
//! 6. [`narrow`]: binary values travel as bits where their readers can use them.
//!
//! Liveness and the arena follow in [`crate::Plan`].

pub mod checkpoint;
pub mod dead_code;
pub mod fuse;
pub mod hoist_time;
pub mod narrow;
pub mod save;

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
    let mut reports = vec![
        hoist_time::run(graph),
        dead_code::run(graph),
        fuse::run(graph),
    ];
    let kept = checkpoint::run(graph, target);
    if kept.changes > 0 {
        reports.push(kept);
    }
    reports.push(save::run(graph));
    dead_code::run(graph);
    reports.push(narrow::run(graph, target));
    reports
}
