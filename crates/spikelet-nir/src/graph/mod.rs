//! NIR graphs: typed nodes, edges, graphs in graphs, cycles, metadata.
//!
//! | file | content |
//! |---|---|
//! | `node.rs`, `layers.rs`, `neurons.rs`, `sizes.rs`, `metadata.rs` | the types of nodes, with their equations |
//! | `read.rs`, `write.rs` | a graph from and as a tree of HDF5 |
//! | `expand.rs` | a graph without graphs in it |
//! | `infer.rs`, `forward.rs` | the shapes of all nodes |
//! | `check/`, `warning.rs` | what makes a graph wrong, or doubtful |
//!
//! Source: J. E. Pedersen et al., *Neuromorphic intermediate representation: a unified instruction set for
//! interoperable brain-inspired computing*, Nature Communications 15:8122, 2024; the Python package `nir` 1.0.8.

mod check;
mod error;
mod expand;
mod forward;
mod infer;
mod layers;
mod metadata;
mod neurons;
mod node;
mod read;
mod sizes;
mod warning;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use crate::hdf5;
use spikelet_weights::{ErrorKind as FileError, FileSource, Format, Limits, atomic};

pub use check::CheckedGraph;
pub use error::{Error, ErrorKind, Result};
pub use expand::ExpandedGraph;
pub use infer::NodeShape;
pub use layers::{Affine, Conv, Delay, Flatten, Linear, Pool, Scale, Threshold};
pub use metadata::{Metadata, MetadataValue};
pub use neurons::{CubaLi, CubaLif, If, Integrator, Li, Lif};
pub use node::{Node, NodeKind, Parameter};
pub use sizes::{Padding, Sizes};
pub use warning::Warning;

/// The version of the Python package whose files are written.
const VERSION: &str = "1.0.8";

/// Sequences go from `from` to `to`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The name of the source.
    pub from: String,
    /// The name of the target.
    pub to: String,
}

impl Edge {
    /// An edge between two nodes.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        let (from, to) = (from.into(), to.into());
        Self { from, to }
    }
}

/// A graph: nodes by name, and edges in the order of the file. Several edges into a node are summed.
///
/// ```
/// use spikelet_nir::{Graph, Lif, Linear, NodeKind, Tensor};
///
/// let all = |value: f64| Tensor::from_f64(&[3], &[value; 3]);
/// let mut graph = Graph::default();
/// graph
///     .insert("input", NodeKind::Input { shape: vec![2] })
///     .insert("fc", NodeKind::Linear(Linear { weight: Tensor::from_f32(&[3, 2], &[0.5; 6])? }))
///     .insert(
///         "lif",
///         NodeKind::Lif(Lif {
///             tau: all(0.01)?,
///             r: all(1.0)?,
///             v_leak: all(0.0)?,
///             v_threshold: all(1.0)?,
///             v_reset: Some(all(0.0)?),
///         }),
///     )
///     .insert("output", NodeKind::Output { shape: vec![3] })
///     .connect(&["input", "fc", "lif", "output"]);
///
/// let folder = tempfile::tempdir()?;
/// graph.write(folder.path().join("network.nir"))?;
/// assert_eq!(Graph::read(folder.path().join("network.nir"))?, graph);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// All nodes. Files do not keep their order.
    pub nodes: BTreeMap<String, Node>,
    /// All edges.
    pub edges: Vec<Edge>,
    /// What else is known about the graph.
    pub metadata: Metadata,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// The level of deflate for arrays, 0 to 9; `None` does not compress them, as `nir` before 1.0.8.
    pub compression: Option<u32>,
}

impl Default for WriteOptions {
    /// Level 4, as `nir` 1.0.8.
    fn default() -> Self {
        Self {
            compression: Some(4),
        }
    }
}

impl Graph {
    /// Adds a node, or replaces it.
    pub fn insert(&mut self, name: impl Into<String>, node: impl Into<Node>) -> &mut Self {
        self.nodes.insert(name.into(), node.into());
        self
    }

    /// Adds the edges of a chain of nodes.
    pub fn connect(&mut self, names: &[&str]) -> &mut Self {
        let edges = names.windows(2).map(|ends| Edge::new(ends[0], ends[1]));
        self.edges.extend(edges);
        self
    }

    /// Reads a `.nir` file of any version. [`Graph::check`] checks what a type checker would.
    ///
    /// # Errors
    /// [`ErrorKind::File`] for files that cannot be read or are no graphs, [`ErrorKind::Node`] for nodes with other
    /// parameters than their type has.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::read_with(path, &Limits::default())
    }

    /// Reads a `.nir` file that takes at most so much memory.
    ///
    /// # Errors
    /// As [`Graph::read`].
    pub fn read_with(path: impl AsRef<Path>, limits: &Limits) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::from_source(FileSource::open(path)?, limits);
        open().map_err(|error: Error| error.in_file(path))
    }

    /// Reads the bytes of a `.nir` file.
    ///
    /// # Errors
    /// As [`Graph::read`].
    pub fn from_bytes(bytes: Vec<u8>, limits: &Limits) -> Result<Self> {
        Self::from_source(FileSource::Bytes(bytes), limits)
    }

    fn from_source(source: FileSource, limits: &Limits) -> Result<Self> {
        match Format::of(&source)? {
            Format::Nir => read::graph(hdf5::read_root(source, limits)?, limits.depth),
            other => Err(ErrorKind::File(FileError::Format {
                found: other.to_string(),
                expected: "a NIR graph (HDF5)",
                help: "weights alone have no graph; read them with `Weights::read`",
            })
            .into()),
        }
    }

    /// Checks the graph and computes the shapes of all nodes.
    ///
    /// # Errors
    /// [`ErrorKind::Node`], [`ErrorKind::Edge`], [`ErrorKind::ShapeMismatch`] name the first node or edge that is
    /// wrong.
    ///
    /// ```
    /// use spikelet_nir::{Graph, Linear, NodeKind, Tensor};
    ///
    /// let mut graph = Graph::default();
    /// graph
    ///     .insert("input", NodeKind::Input { shape: vec![3] })
    ///     .insert("fc", NodeKind::Linear(Linear { weight: Tensor::from_f32(&[1, 2], &[0.5; 2])? }))
    ///     .connect(&["input", "fc"]);
    /// let error = graph.check().unwrap_err().to_string();
    /// assert!(error.starts_with("edge `input` -> `fc`: `input` gives [3], `fc` takes [2]"), "{error}");
    /// # Ok::<(), spikelet_nir::Error>(())
    /// ```
    pub fn check(&self) -> Result<CheckedGraph> {
        check::check(self)
    }

    /// The graph with all graphs in it taken apart.
    ///
    /// # Errors
    /// [`ErrorKind::Edge`] if an edge leads to no node; [`ErrorKind::Node`] if a graph with edges has not one Input
    /// and one Output.
    pub fn expand(&self) -> Result<ExpandedGraph<'_>> {
        expand::expand(self)
    }

    /// Writes a `.nir` file, after a check. The same graph gives the same bytes.
    ///
    /// # Errors
    /// As [`Graph::check`]; [`ErrorKind::File`]. A file that was there is unchanged then.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write_with(path, &WriteOptions::default())
    }

    /// Writes a `.nir` file.
    ///
    /// # Errors
    /// As [`Graph::write`].
    pub fn write_with(&self, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
        let path = path.as_ref();
        self.check().map_err(|error| error.in_file(path))?;
        let node = write::graph(self).map_err(|error| error.in_file(path))?;
        Ok(atomic::write(path, |file| {
            hdf5::write(node, VERSION, options.compression, file)
        })?)
    }

    /// The bytes of a `.nir` file.
    ///
    /// # Errors
    /// As [`Graph::check`].
    pub fn to_bytes(&self, options: &WriteOptions) -> Result<Vec<u8>> {
        self.check()?;
        let mut bytes = vec![];
        hdf5::write(
            write::graph(self)?,
            VERSION,
            options.compression,
            &mut bytes,
        )?;
        Ok(bytes)
    }
}
