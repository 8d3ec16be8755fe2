//! Runs spikelet plans on the CPU.
//!
//! Wherever the order of summation matters, work is partitioned independently of the number of
//! threads, so that results are bitwise equal for any number of threads. A plan's arena and all
//! scratch memory are allocated when the plan is loaded, none while it runs.

mod backend;
mod bound_plan;
mod broadcast;
mod callable;
mod executor;
pub mod gemm;
mod lanes;
mod machine;
mod memory;
mod op;
mod parallel;
mod scratch;
mod shared;
mod spikes;
mod transpose;

pub use backend::Cpu;
pub use callable::CallablePlan;
pub use parallel::{CallingThread, Workers};
