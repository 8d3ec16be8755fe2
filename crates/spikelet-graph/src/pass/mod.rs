//! Passes over a graph.
//!
//! [`PIPELINE`] has all of them, in the order in which they run, with what each does. Those before differentiation
//! ([`prepare`]) make the backward pass the derivative of the rewritten graph; the others prepare the complete graph for a
//! target ([`crate::Plan::new`]). A graph that an operation owns, such as the body of a loop, goes through the same passes.
//! Each pass is written on the toolkit of [`crate::rewrite`].
//!
//! Results keep their bits: passes run the same operations on the same elements. There are three
//! exceptions: [`precision`], [`fold_casts`] and [`fuse_affine_into_scan`] leave out roundings;
//! [`channel_sums`], [`time_chunking`] and [`fuse_recurrent_scan`] change the order of sums, and so may
//! [`hoist_from_loops`];
//! [`hoist_time`] multiplies a step by T instead of adding T equal steps.

pub mod bit_pack_spikes;
pub mod channel_sums;
pub mod checkpoint;
mod copy_before_update;
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
mod pipeline;
pub mod precision;
pub mod prune_loops;
pub mod recompute_cheap;
pub mod rematerialize;
pub mod remove_copies;
pub mod time_chunking;
pub mod unroll;

pub(crate) use pipeline::{Choices, place, run_all_with};
pub use pipeline::{PIPELINE, Pass, Stage, prepare, run_all};

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
