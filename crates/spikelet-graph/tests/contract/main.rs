//! The contract of the graph without a device: passes, plans, errors.

mod all_reduce;
mod channel_sums;
mod checkpoint;
mod custom;
mod errors;
mod expressions;
mod forward_backward;
mod fuse_affine_into_scan;
mod graphs;
mod half;
mod image_errors;
mod layout;
mod long_chains;
mod long_program;
mod memory_limit;
mod overlapping_layers;
mod passes;
mod planning_time;
mod plans;
mod precision;
mod sizes;
mod targets;
mod text;
mod thread_process_group;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../support/thread_process_group.rs"]
mod thread_ranks;
mod time_chunking;
