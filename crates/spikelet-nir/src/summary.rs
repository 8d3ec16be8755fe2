//! What a file holds, after a check.

use std::fmt;
use std::path::Path;

use crate::graph::{Error, Result};
use crate::graph::{Graph, NodeKind, Parameter};
use spikelet_weights::{Format, Limits, WeightOptions, Weights};

/// What a valid file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The format.
    pub format: Format,
    /// The nodes of a graph that are no graphs, with those of graphs in it; 0 for weights.
    pub nodes: usize,
    /// The edges of a graph, with those of graphs in it; 0 for weights.
    pub edges: usize,
    /// The tensors.
    pub tensors: usize,
    /// The elements of all tensors.
    pub elements: usize,
    /// What is doubtful: a line each.
    pub warnings: Vec<String>,
}

/// Checks a file with a graph or weights, by content.
///
/// # Errors
/// As [`Graph::read`], [`Graph::check`] and [`Weights::read`]: the message names the node, tensor or record, and what
/// is wrong with it.
///
/// ```
/// use spikelet_nir::check_file;
/// use spikelet_weights::{Tensor, Weights};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("weights.safetensors");
/// let mut weights = Weights::default();
/// weights.insert("fc.weight", Tensor::from_f32(&[1, 2], &[0.5, -1.0])?)?;
/// weights.write_safetensors(&path)?;
/// assert_eq!(check_file(&path)?.to_string(), "safetensors: 1 tensor, 2 elements");
/// std::fs::write(&path, b"garbage")?;
/// assert!(check_file(&path).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_file(path: impl AsRef<Path>) -> Result<Summary> {
    let path = path.as_ref();
    let check = || match Format::detect(path)? {
        Format::Nir => graph(&Graph::read_with(path, &Limits::default())?),
        format => Ok(weights(
            format,
            &Weights::read_with(path, &WeightOptions::default())?,
        )),
    };
    check().map_err(|error: Error| error.in_file(path))
}

fn graph(graph: &Graph) -> Result<Summary> {
    let checked = graph.check()?;
    let expanded = graph.expand()?;
    let parameters = expanded
        .nodes
        .values()
        .flat_map(|node| node.kind.parameters());
    let tensors: Vec<usize> = parameters
        .filter_map(|(_, parameter)| match parameter {
            Parameter::Tensor(tensor) => Some(tensor.len()),
            _ => None,
        })
        .collect();
    let mut warnings: Vec<String> = checked.warnings.iter().map(ToString::to_string).collect();
    let mut kinds = expanded.nodes.values().map(|node| &node.kind);
    if !kinds.any(|kind| matches!(kind, NodeKind::Input { .. })) {
        warnings.push("the graph has no Input".into());
    }
    Ok(Summary {
        format: Format::Nir,
        nodes: expanded.nodes.len(),
        edges: expanded.edges.len(),
        tensors: tensors.len(),
        elements: tensors.iter().sum(),
        warnings,
    })
}

fn weights(format: Format, weights: &Weights) -> Summary {
    let skipped = weights.skipped().iter().take(16);
    Summary {
        format,
        nodes: 0,
        edges: 0,
        tensors: weights.len(),
        elements: weights.iter().map(|(_, tensor)| tensor.len()).sum(),
        warnings: skipped
            .map(|name| format!("`{name}` is no tensor and is not read"))
            .collect(),
    }
}

fn counted(count: usize, singular: &str) -> String {
    match count {
        1 => format!("1 {singular}"),
        count => format!("{count} {singular}s"),
    }
}

impl fmt::Display for Summary {
    /// A line, and a line for each warning.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.format.to_string();
        write!(
            f,
            "{}: ",
            name.trim_start_matches("an ").trim_start_matches("a ")
        )?;
        if self.format == Format::Nir {
            write!(
                f,
                "{}, {}, ",
                counted(self.nodes, "node"),
                counted(self.edges, "edge")
            )?;
        }
        let (tensors, elements) = (
            counted(self.tensors, "tensor"),
            counted(self.elements, "element"),
        );
        write!(f, "{tensors}, {elements}")?;
        self.warnings
            .iter()
            .try_for_each(|warning| write!(f, "\nwarning: {warning}"))
    }
}
