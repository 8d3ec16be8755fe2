//! The graph while it is written: nodes one after the other, of which the last has the current output; behind the
//! branches of a sum, several have it together.

use super::super::choices::FeedbackFrom;
use super::super::error::NirError;
use super::super::metadata::{Recorded, note};
use super::{ExportOptions, Exported, refused};
use crate::graph::{Edge, Graph, Node, NodeKind};
use spikelet_core::Result;
use spikelet_graph::{DType, Tensor};
use spikelet_nn::runtime::VarStore;
use spikelet_weights::Tensor as NirTensor;

/// Nodes whose outputs are added, and the shape of their outputs; `None` is the Input.
pub(super) type Sources = (Vec<Option<String>>, Vec<usize>);

pub(super) struct Writer<'a> {
    store: &'a VarStore,
    pub(super) options: &'a ExportOptions,
    graph: Graph,
    /// Edges; a source that is `None` is the Input.
    edges: Vec<(Option<String>, String)>,
    /// The nodes whose outputs are added; `None` is the Input.
    sources: Vec<Option<String>>,
    /// The shape of their outputs, without time and batch.
    pub(super) shape: Vec<usize>,
    notes: Vec<String>,
    /// The choices of all neurons.
    recorded: Vec<Recorded>,
    /// The choice of all cycles.
    feedback: Option<FeedbackFrom>,
    /// The readout over time behind the last node, which is not part of the graph.
    readout: Option<String>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(store: &'a VarStore, options: &'a ExportOptions) -> Self {
        Self {
            store,
            options,
            graph: Graph::default(),
            edges: vec![],
            sources: vec![None],
            shape: options.input.clone(),
            notes: vec![],
            recorded: vec![],
            feedback: None,
            readout: None,
        }
    }

    /// A tensor of the module `path`.
    pub(super) fn tensor(&self, path: &str, name: &str) -> Result<Tensor> {
        let name = match path {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        };
        self.store.get(&name)
    }

    /// A tensor of the module `path`, as a parameter of a node.
    pub(super) fn parameter(&self, path: &str, name: &str) -> Result<NirTensor> {
        Ok(parameter(&self.tensor(path, name)?)?)
    }

    /// Adds a node behind the last one; its output has this shape.
    pub(super) fn push(&mut self, path: &str, kind: NodeKind, shape: Vec<usize>) -> String {
        let name = self.insert(path, kind);
        for source in std::mem::replace(&mut self.sources, vec![Some(name.clone())]) {
            self.edges.push((source, name.clone()));
        }
        self.shape = shape;
        name
    }

    /// Adds a node without edges.
    pub(super) fn insert(&mut self, path: &str, kind: NodeKind) -> String {
        let mut name = match path {
            "" => kind.name().to_lowercase(),
            path => path.to_string(),
        };
        while self.graph.nodes.contains_key(&name) {
            name.push('_');
        }
        self.graph.insert(name.clone(), kind);
        name
    }

    /// Adds an edge between two nodes.
    pub(super) fn connect(&mut self, from: &str, to: &str) {
        self.edges.push((Some(from.to_string()), to.to_string()));
    }

    /// The last node, if it is not the Input or a sum.
    pub(super) fn last(&mut self) -> Option<&mut Node> {
        let name = self.last_name()?;
        self.graph.nodes.get_mut(&name)
    }

    /// The nodes whose outputs are added, with the shape of their outputs.
    pub(super) fn sources(&self) -> Sources {
        (self.sources.clone(), self.shape.clone())
    }

    /// Continues behind other nodes.
    pub(super) fn continue_from(&mut self, (sources, shape): Sources) {
        (self.sources, self.shape) = (sources, shape);
    }

    /// Adds a cycle of the module `path`, whose delay of one step is at this place.
    pub(super) fn cycle(&mut self, path: &str, feedback: FeedbackFrom) -> Result<(), NirError> {
        match self.feedback.replace(feedback) {
            Some(before) if before != feedback => Err(refused::other_feedback(
                path,
                feedback.name(),
                before.name(),
            )),
            _ => Ok(()),
        }
    }

    /// Ends the graph before a readout over time.
    pub(super) fn read_out(&mut self, path: &str, readout: String) {
        self.notes.push(format!(
            "{path}: the readout over time `{readout}` is not part of the graph, which returns every step"
        ));
        self.readout = Some(readout);
    }

    /// The readout over time that ended the graph.
    pub(super) fn readout(&self) -> Option<&str> {
        self.readout.as_deref()
    }

    /// Adds the choices of a neuron to those of the graph.
    pub(super) fn agree(&mut self, recorded: &Recorded) {
        self.recorded.push(*recorded);
    }

    /// Writes the choices of a neuron into its metadata.
    pub(super) fn record(&mut self, name: &str, recorded: &Recorded) -> Result<(), NirError> {
        self.agree(recorded);
        match self.graph.nodes.get_mut(name) {
            Some(node) => recorded.write(&mut node.metadata),
            None => Ok(()),
        }
    }

    /// Writes what was changed into the metadata of a node, and into the notes.
    pub(super) fn changed(&mut self, name: &str, key: &str, text: &str) {
        if let Some(node) = self.graph.nodes.get_mut(name) {
            note(&mut node.metadata, key, text);
        }
        self.notes.push(format!("{name}: {text}"));
    }

    /// The name of the last node, if it is not the Input or a sum.
    pub(super) fn last_name(&self) -> Option<String> {
        match self.sources.as_slice() {
            [last] => last.clone(),
            _ => None,
        }
    }

    pub(super) fn finish(mut self) -> Result<Exported, NirError> {
        let output = NodeKind::Output {
            shape: self.shape.clone(),
        };
        let output = self.push("output", output, self.shape.clone());
        if let (Some(readout), Some(node)) = (&self.readout, self.graph.nodes.get_mut(&output)) {
            note(&mut node.metadata, "readout", readout);
        }
        let shape = self.options.input.clone();
        let input = self.insert("input", NodeKind::Input { shape });
        for (from, to) in std::mem::take(&mut self.edges) {
            let from = from.unwrap_or_else(|| input.clone());
            self.graph.edges.push(Edge { from, to });
        }
        // Choices on which all neurons agree are those of the graph, too.
        let recorded = Recorded {
            dt: Some(self.options.dt),
            discretization: agreed(self.recorded.iter().map(|by| by.discretization)),
            reset: agreed(self.recorded.iter().map(|by| by.reset)),
            // Only the neurons with a late reset have it in their metadata.
            reset_delay: None,
            fires: agreed(self.recorded.iter().map(|by| by.fires)),
            feedback: Some(self.feedback.unwrap_or_default()),
            v_start: agreed(self.recorded.iter().map(|by| by.v_start)),
        };
        recorded.write(&mut self.graph.metadata)?;
        self.graph.check()?;
        Ok(Exported {
            graph: self.graph,
            notes: self.notes,
        })
    }
}

/// The value that all have that have one.
fn agreed<T: Copy + PartialEq>(values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let mut values = values.flatten();
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// A tensor as a parameter of a node: f64 stays f64, all others are f32.
pub(super) fn parameter(tensor: &Tensor) -> Result<NirTensor, NirError> {
    let values = tensor.to_f64();
    Ok(match tensor.ty().dtype {
        DType::F64 => NirTensor::from_f64(&tensor.shape, &values)?,
        _ => {
            let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
            NirTensor::from_f32(&tensor.shape, &values)?
        }
    })
}
