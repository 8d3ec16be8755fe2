//! Neurons, surrogate gradients, encoders and layers, the networks built from them, and the programs
//! that networks compile to.
//!
//! This crate depends on the CPU backend alone: a program takes any
//! [`Backend`](spikelet_graph::Backend). Most users depend on `spikelet`, which re-exports it.

pub mod device;
pub mod domain;
pub mod encoder;
mod error;
pub mod layer;
pub mod loss;
pub mod module;
pub mod network;
pub mod neuron;
pub mod prelude;
mod registry;
pub mod runtime;
pub mod surrogate;
pub mod tensors;

pub use domain::{Constant, Domain};
pub use error::{DefinitionError, LayerError, LayerProblem, OutsideBound, RuntimeError};
pub use registry::{Build, Entry};
pub use spikelet_core::{Error, Result};
