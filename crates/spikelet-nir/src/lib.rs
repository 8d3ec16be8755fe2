//! NIR graphs are read, checked and written.
//!
//! [`Graph`] is a graph of the Neuromorphic Intermediate Representation: typed nodes, edges, graphs in graphs, cycles,
//! metadata. [`Graph::read`] reads `.nir` files of every version, [`Graph::check`] checks a graph and computes the shapes
//! of all nodes, [`Graph::write()`] writes files that h5py and the Python package `nir` read.
//!
//! No input makes a reader panic, allocate what a header merely claims, or run without an end.

mod error;
mod graph;
mod hdf5;
mod summary;

pub use error::{Error, ErrorKind, Result};
pub use graph::{
    Affine, CheckedGraph, Conv, CubaLi, CubaLif, Delay, Edge, ExpandedGraph, Flatten, Graph, If,
    Integrator, Li, Lif, Linear, Metadata, MetadataValue, Node, NodeKind, NodeShape, Padding,
    Parameter, Pool, Scale, Sizes, Threshold, Warning, WriteOptions,
};
pub use spikelet_weights::{Dtype, Limits, Tensor};
pub use summary::{Summary, check_file};
