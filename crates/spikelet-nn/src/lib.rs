//! Neurons, surrogate gradients, encoders and layers, the networks built from them, and the programs
//! that networks compile to.
//!
//! The only backend in the dependencies of this crate is the CPU; programs run on any
//! [`Backend`](spikelet_graph::Backend). Most programs use the crate `spikelet`, which re-exports this one.

pub mod device;
pub mod domain;
pub mod encoder;
pub mod energy;
mod error;
mod fan_out;
pub mod layer;
pub mod learning;
pub mod loss;
pub mod module;
pub mod network;
pub mod neuron;
mod neuron_ops;
pub mod prelude;
pub mod runtime;
pub mod sequence;
pub mod surrogate;
mod synapses;
pub mod tensors;
mod trainable;

pub use domain::{Constant, Domain};
pub use error::{DefinitionError, LayerError, LayerProblem, RuntimeError};
pub use spikelet_core::{Error, Result};
pub use trainable::OutsideBound;
