//! The two networks of a comparison: a graph that runs, or sequences that another program recorded.

use super::super::error::NirError;
use super::super::import::import;
use super::super::options::Semantics;
use super::super::simulate::{Record, SimulateOptions, simulate};
use super::recording::{Layer, LayerKind, Quantity, Recording, Sequence};
use super::trace::Trace;
use crate::graph::{ExpandedGraph, Graph, NodeKind};
use spikelet_core::Result;
use spikelet_graph::Tensor;
use spikelet_weights::Format;
use std::collections::BTreeMap;
use std::path::Path;

/// One of the two networks.
#[derive(Clone, Debug)]
pub enum Side {
    /// A NIR graph, which runs on the input.
    Graph {
        /// The graph.
        graph: Box<Graph>,
        /// The time steps, the type and the device; all nodes are recorded.
        options: SimulateOptions,
    },
    /// Recorded sequences, which do not run.
    Trace(Trace),
}

impl Side {
    /// A graph that runs.
    pub fn graph(graph: Graph, options: SimulateOptions) -> Self {
        Self::Graph {
            graph: Box::new(graph),
            options,
        }
    }

    /// A graph or recorded sequences from a file, by its content.
    ///
    /// # Errors
    /// When the file cannot be read; [`NirError::Diff`] if it is a checkpoint of PyTorch.
    pub fn read(path: impl AsRef<Path>, options: &SimulateOptions) -> Result<Self> {
        let path = path.as_ref();
        match Format::detect(path).map_err(NirError::from)? {
            Format::Nir => {
                let graph = Graph::read(path).map_err(NirError::from)?;
                Ok(Self::graph(graph, options.clone()))
            }
            Format::Safetensors | Format::Npz => Ok(Self::Trace(Trace::read(path)?)),
            other => Err(NirError::diff(
                format!(
                    "{}: this is {other}; expected a NIR graph or recorded sequences (safetensors, .npz)",
                    path.display()
                ),
                "export the network as a NIR graph, or record its sequences",
            )
            .into()),
        }
    }
}

/// A graph with its options and its input: what a trial changes.
#[derive(Clone, Debug)]
pub(super) struct Runnable {
    pub(super) graph: Graph,
    pub(super) options: SimulateOptions,
    pub(super) inputs: BTreeMap<String, Tensor>,
}

impl Runnable {
    pub(super) fn new(
        graph: &Graph,
        options: &SimulateOptions,
        given: &BTreeMap<String, Tensor>,
    ) -> Result<Self> {
        let inputs = inputs_of(&graph.expand().map_err(NirError::from)?, given);
        Ok(Self {
            graph: graph.clone(),
            options: SimulateOptions {
                record: Record::All,
                ..options.clone()
            },
            inputs,
        })
    }

    /// Runs the graph; its layers are in the order in which they run.
    pub(super) fn run(&self) -> Result<(Recording, Semantics)> {
        let traces = simulate(&self.graph, &self.inputs, &self.options)?;
        let imported = import(&self.graph, &self.options.import)?;
        let expanded = self.graph.expand().map_err(NirError::from)?;
        let layer = |path: &str| {
            let value = |quantity: Quantity| {
                let name = format!("{path}/{}", quantity.name());
                let sequence = Sequence::new(traces.sequences.get(&name)?);
                Some((quantity, sequence))
            };
            let kind = expanded
                .nodes
                .get(path)
                .map(|node| LayerKind::of(&node.kind));
            Layer {
                name: path.to_string(),
                kind: kind.unwrap_or(LayerKind::Other),
                values: Quantity::ALL.into_iter().filter_map(value).collect(),
            }
        };
        let layers = imported.module.execution_order().map(layer);
        let layers = layers.filter(|layer| !layer.values.is_empty()).collect();
        Ok((Recording { layers }, traces.semantics))
    }
}

/// The sequences of the Inputs: by name, or the only one for the only Input.
fn inputs_of(
    graph: &ExpandedGraph<'_>,
    given: &BTreeMap<String, Tensor>,
) -> BTreeMap<String, Tensor> {
    let is_fed = |path: &String| graph.edges.iter().any(|edge| edge.to == *path);
    let mut inputs = graph
        .nodes
        .iter()
        .filter(|(path, node)| matches!(node.kind, NodeKind::Input { .. }) && !is_fed(path));
    match (inputs.next(), inputs.next(), given.values().next()) {
        (Some((path, _)), None, Some(only)) if given.len() == 1 => {
            [(path.clone(), only.clone())].into()
        }
        _ => given.clone(),
    }
}
