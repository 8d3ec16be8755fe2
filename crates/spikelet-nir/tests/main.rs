//! The tests of graphs.

mod checks;
#[path = "../../spikelet-weights/tests/common/mod.rs"]
mod common;
mod graphs;
mod mutations;
