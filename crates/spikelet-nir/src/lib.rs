//! NIR graphs and weight files are read and written.
//!
//! [`Graph`] is a graph of the Neuromorphic Intermediate Representation: typed nodes, edges, graphs in graphs, cycles,
//! metadata. [`Graph::read`] reads `.nir` files of every version, [`Graph::check`] checks a graph and computes the shapes
//! of all nodes, [`Graph::write()`] writes files that h5py and the Python package `nir` read.
//!
//! [`Weights`] are tensors by name, from checkpoints of PyTorch (zip, stream and tar), safetensors and `.npz`. A pickle
//! is read by a machine that knows tensors and containers and nothing else: no code of a file runs.
//! [`Weights::match_names`] maps the names of another framework.
//!
//! ```
//! use spikelet_nir::{Format, Graph, Tensor, Weights};
//! # let folder = tempfile::tempdir()?;
//! # let (input, output) = (folder.path().join("checkpoint.pt"), folder.path().join("weights.safetensors"));
//! # let mut weights = Weights::default();
//! # weights.insert("module.net.fc.bias", Tensor::from_f32(&[1], &[0.5])?)?;
//! # weights.write_torch(&input)?;
//!
//! match Format::detect(&input)? {
//!     Format::Nir => Graph::read(&input)?.write(&output)?,
//!     _ => {
//!         let mut weights = Weights::read(&input)?;
//!         weights.strip_module();
//!         weights.strip_prefix("net.")?;
//!         weights.write_safetensors(&output)?;
//!     }
//! }
//! # assert!(Weights::read(&output)?.get("fc.bias").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No input makes a reader panic, allocate what a header merely claims, or run without an end. Files are written beside
//! their path and moved there, so that they appear complete or not at all.

mod atomic;
mod dtype;
mod error;
mod format;
mod graph;
mod hdf5;
mod limits;
mod source;
mod summary;
mod tensor;
mod weights;

pub use dtype::Dtype;
pub use error::{Error, ErrorKind, Result};
pub use format::Format;
pub use graph::{
    Affine, CheckedGraph, Conv, CubaLi, CubaLif, Delay, Edge, ExpandedGraph, Flatten, Graph, If,
    Integrator, Li, Lif, Linear, Metadata, MetadataValue, Node, NodeKind, NodeShape, Padding,
    Parameter, Pool, Scale, Sizes, Threshold, Warning, WriteOptions,
};
pub use limits::Limits;
pub use summary::{Summary, check_file};
pub use tensor::Tensor;
pub use weights::{Expected, NameMap, NameMatch, WeightOptions, Weights};
