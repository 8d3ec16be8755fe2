//! Deep spiking neural networks, trained and run on the CPU and on NVIDIA GPUs.
//!
//! A neuron is one file with its equation written once; a network is traced once and compiled
//! into a plan; state is a value and time is an axis. Start with the [`prelude`].

pub mod device;
mod domain;
pub mod encoder;
mod error;
pub mod files;
#[cfg(doctest)]
mod guide;
pub mod layer;
pub mod log;
pub mod loss;
mod memory_budget;
pub mod model;
pub mod module;
pub mod network;
pub mod neuron;
pub mod optim;
pub mod parallel;
pub mod pipeline;
pub mod prelude;
mod registry;
pub mod report;
mod signals;
pub mod surrogate;
pub mod tensors;
pub mod timing;
pub mod train;

pub use domain::{Constant, Domain};
pub use error::{Error, Result};
pub use memory_budget::MemoryBudget;
pub use registry::{Build, Entry};
pub use spikelet_cuda::auto_cuda;
pub use {
    spikelet_cuda as cuda, spikelet_data as data, spikelet_expr as expr, spikelet_graph as graph,
};
