//! Train and run deep spiking neural networks on the CPU and on NVIDIA GPUs.
//!
//! A neuron is its equation: the forward and backward passes over time are derived from it. A network
//! is traced once and compiled into one plan. State is a value, and time is an axis: sequences are
//! `[T, N, …]`.
//!
//! ```
//! use spikelet::prelude::*;
//!
//! let net = Sequential::new()
//!     .add(Flatten)
//!     .add(Linear::new(784, 10))
//!     .add(Lif::new(2.0).surrogate(Atan::default()));
//! let digits = spikelet::data::synthetic::digits_of(0, 600, 100);
//! let settings = Settings { epochs: 1, batch_size: 50, time_steps: 4, ..Settings::default() };
//! let report = Trainer::new(net, settings).fit(&digits)?;
//! println!("test accuracy {:.1} %", 100.0 * report.test_accuracy());
//! # assert!(report.test_accuracy() > 0.0);
//! # Ok::<(), spikelet::Error>(())
//! ```
//!
//! The [`prelude`] has the names of this program. The
//! [guide](https://github.com/spikelet/spikelet/tree/main/docs/guide) has a page for each task, and
//! [`examples`](https://github.com/spikelet/spikelet/tree/main/examples) complete programs.
//!
//! # Crates
//!
//! This crate re-exports those that it consists of. Each depends only on those below it.
//!
//! | module | crate | contents |
//! |---|---|---|
//! | [`pipeline`] | `spikelet-pipeline` | networks in stages on several devices |
//! | [`train`], [`optim`], [`timing`], [`weights`] | `spikelet-train` | training steps, the trainer, optimizers, checkpoints, weights of other frameworks |
//! | [`log`], [`report`] | `spikelet-report` | logs, reports, figures |
//! | [`distributed`] | `spikelet-distributed` | process groups: data-parallel training on several GPUs and hosts |
//! | [`neuron`], [`surrogate`], [`encoder`], [`layer`], [`module`], [`loss`], [`network`], [`runtime`], [`sequence`], [`tensors`] | `spikelet-nn` | neurons, layers and named networks, and the programs that they compile to |
//! | `nir` | `spikelet-nir` | NIR graphs as modules, and back |
//! | | `spikelet-weights` | files of weights |
//! | [`eventprop`] | `spikelet-eventprop` | exact gradients of networks with exact spike times |
//! | [`data`] | `spikelet-data` | data sets, augmentation, loaders |
//! | `auto_cuda` | `spikelet-auto-cuda` | CUDA kernels written as text |
//! | [`cuda`] | `spikelet-cuda` | the CUDA backend |
//! | | `spikelet-cpu` | the CPU backend |
//! | [`graph`] | `spikelet-graph` | the tensor graph, its passes and plans, the [`Backend`](graph::Backend) trait |
//! | | `spikelet-random` | random numbers that are the same on all devices |
//! | [`expr`] | `spikelet-expr` | scalar expressions |
//!
//! [`device`] finds a backend by name. Examples in the documentation of a crate import from that crate:
//! `spikelet_graph::Tracer` is [`spikelet::graph::Tracer`](graph::Tracer) in a program.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `cuda` | yes | NVIDIA GPUs: [`cuda`], [`device::cuda`]. Building needs no CUDA toolkit; libraries are looked for at run time. |
//! | `download` | yes | downloads of data sets with checksums: `load_or_download` of [`data`]. Builds HTTP, TLS and tar. |
//! | `hdf5` | yes | the data sets `shd` and `ssc` of [`data`], which are HDF5 files |
//! | `distributed` | yes | [`distributed`], and the devices of ranks: [`device::open_in_group`] |
//! | `plots` | yes | [`report`]: the report that a run ends with, activity of layers, pictures of pipelines |
//! | `images`, `csv`, `audio` | no | folders of PNG and JPEG files, tables of comma-separated values, WAV files and mel filter banks in [`data`] |
//! | `nir` | no | `nir`: graphs of the Neuromorphic Intermediate Representation, imported, simulated and exported |
//! | `auto-cuda` | no | `auto_cuda`; includes `cuda` |
//!
//! With `default-features = false` the library has neurons, layers, the trainer and the CPU.

pub mod device;
#[cfg(all(doctest, feature = "cuda", feature = "distributed", feature = "plots"))]
mod guide;
pub mod prelude;
pub mod recipes;

#[cfg(feature = "auto-cuda")]
#[doc(inline)]
pub use spikelet_auto_cuda as auto_cuda;
pub use spikelet_core::{
    Error, MemoryBudget, ParseMemoryBudgetError, Result, document, files, human, problem_and_help,
    signals, suggest, terminal,
};
#[cfg(feature = "cuda")]
#[doc(inline)]
pub use spikelet_cuda as cuda;
#[cfg(feature = "distributed")]
#[doc(inline)]
pub use spikelet_distributed as distributed;
#[cfg(feature = "nir")]
#[doc(inline)]
pub use spikelet_nir as nir;
pub use spikelet_nn::{
    Constant, DefinitionError, Domain, LayerError, LayerProblem, OutsideBound, RuntimeError,
    encoder, energy, layer, learning, loss, module, network, neuron, runtime, sequence, surrogate,
    tensors,
};
pub use spikelet_report::log;
#[cfg(feature = "plots")]
pub use spikelet_report::report;
pub use spikelet_schema as schema;
pub use spikelet_train::{optim, timing, weights};
#[doc(inline)]
pub use {
    spikelet_data as data, spikelet_eventprop as eventprop, spikelet_events as events,
    spikelet_expr as expr, spikelet_graph as graph, spikelet_pipeline as pipeline,
    spikelet_train as train,
};
