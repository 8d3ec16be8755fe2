//! Deep spiking neural networks, trained and run on the CPU and on NVIDIA GPUs.
//!
//! A neuron is one file with its equation written once; a network is traced once and compiled
//! into a plan; state is a value and time is an axis. Start with the [`prelude`].
//!
//! This crate re-exports those that it is made of:
//!
//! | module | crate | contents |
//! |---|---|---|
//! | [`neuron`], [`surrogate`], [`encoder`], [`layer`], [`module`], [`loss`], [`network`], [`runtime`], [`tensors`] | `spikelet-nn` | what networks are built from, and the programs that they compile to |
//! | [`train`], [`optim`], [`log`], [`report`], [`timing`] | `spikelet-train` | training steps, the trainer, optimizers, checkpoints, logs, reports |
//! | [`distributed`] | `spikelet-distributed` | process groups |
//! | [`pipeline`] | `spikelet-pipeline` | networks over several devices |
//! | [`data`] | `spikelet-data` | data sets and loaders |
//! | [`graph`], [`expr`] | `spikelet-graph`, `spikelet-expr` | the tensor graph, its plans, and scalar expressions |
//! | [`cuda`] | `spikelet-cuda` | NVIDIA GPUs |

#[cfg(feature = "auto-cuda")]
pub mod auto_cuda;
pub mod device;
#[cfg(all(doctest, feature = "cuda", feature = "distributed", feature = "plots"))]
mod guide;
pub mod prelude;

pub use spikelet_core::{Error, MemoryBudget, ParseMemoryBudgetError, Result, files, human};
#[cfg(feature = "cuda")]
pub use spikelet_cuda as cuda;
#[cfg(feature = "distributed")]
pub use spikelet_distributed as distributed;
pub use spikelet_nn::{
    Build, Constant, DefinitionError, Domain, Entry, LayerError, LayerProblem, OutsideBound,
    RuntimeError, encoder, layer, loss, module, network, neuron, runtime, surrogate, tensors,
};
#[cfg(feature = "plots")]
pub use spikelet_train::report;
pub use spikelet_train::{log, optim, timing};
pub use {
    spikelet_data as data, spikelet_expr as expr, spikelet_graph as graph,
    spikelet_pipeline as pipeline, spikelet_train as train,
};
