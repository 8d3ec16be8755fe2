//! Graphs of the Neuromorphic Intermediate Representation (NIR): networks from other frameworks, as modules that train
//! and run on the engine, and back.
//!
//! [`Graph`] has typed nodes, edges, graphs in graphs, cycles, metadata. [`Graph::read`] reads `.nir` files of every
//! version, [`Graph::check`] checks a graph and computes the shapes of all nodes, [`Graph::write()`] writes files that h5py
//! and the Python package `nir` read. No input makes a reader panic, allocate what a header merely claims, or run
//! without an end.
//!
//! | function | |
//! |---|---|
//! | [`read`] | reads a `.nir` file |
//! | [`import`] | a graph becomes a [`GraphModule`] and its parameters |
//! | [`simulate`] | runs a graph on given sequences, and returns the sequences of all nodes |
//! | [`diff::diff`] | names the first difference between two networks, and its cause |
//! | [`export`] | a network of spikelet becomes a graph |
//! | [`Imported::to_graph`] | an imported graph with trained parameters |
//! | [`read_inputs`], [`Traces::write`] | sequences from and in safetensors files |
//!
//! NIR defines what a node computes in continuous time, and nothing of steps. [`ImportOptions`] has the choices that
//! steps need, and [`Semantics`] says what was chosen.
//!
//! Source: J. E. Pedersen et al., *Neuromorphic intermediate representation: a unified instruction set for
//! interoperable brain-inspired computing*, Nature Communications 15:8122, 2024.

mod choices;
mod convention;
pub mod diff;
mod error;
mod export;
mod files;
mod graph;
mod hdf5;
mod import;
mod metadata;
mod options;
mod simulate;
mod step_length;
mod summary;

pub use choices::{FeedbackFrom, Fires, Reset, VStart};
pub use convention::Convention;
pub use error::NirError;
pub use export::{ExportOptions, Exported, export};
pub use files::read_inputs;
pub use graph::{
    Affine, CheckedGraph, Conv, CubaLi, CubaLif, Delay, Edge, Error, ErrorKind, ExpandedGraph,
    Flatten, Graph, If, Integrator, Li, Lif, Linear, Metadata, MetadataValue, Node, NodeKind,
    NodeShape, Padding, Parameter, Pool, Scale, Sizes, Threshold, Warning, WriteOptions,
};
pub use import::{GraphModule, Imported, Port, import};
pub use options::{ImportOptions, Semantics, StepLengthFrom};
pub use simulate::{Record, SimulateOptions, Traces, simulate};
pub use spikelet_nn::neuron::Discretization;
pub use spikelet_weights::{Dtype, Limits, Tensor};
pub use summary::{Summary, check_file};

use spikelet_core::Result;
use std::path::Path;

/// Reads a `.nir` file of any version.
///
/// # Errors
/// [`NirError::Graph`] if the file cannot be read or is not a graph.
pub fn read(path: impl AsRef<Path>) -> Result<Graph> {
    Ok(Graph::read(path).map_err(NirError::from)?)
}
