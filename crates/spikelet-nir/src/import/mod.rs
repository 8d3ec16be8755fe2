//! From a NIR graph to a module.
//!
//! | file | content |
//! |---|---|
//! | `semantics.rs` | the choices that apply to the graph and to each neuron |
//! | `neurons.rs` | neurons and their parameters |
//! | `layers.rs` | the other nodes and their weights |
//! | `part.rs` | the computation of a node |
//! | `schedule.rs` | the order of the nodes, and the cycles, which run step by step |
//! | `module.rs` | the module |

mod layers;
mod module;
mod neurons;
mod part;
mod schedule;
mod semantics;

pub use module::{GraphModule, Port};

use super::error::NirError;
use super::options::{ImportOptions, Semantics};
use crate::graph::{Graph, Node, NodeKind, NodeShape};
use module::{GraphNode, Origin};
use part::{Built, Part};
use semantics::NodeSemantics;
use spikelet_core::Result;
use spikelet_graph::{Backend, DType, Tensor};
use spikelet_nn::runtime::VarStore;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A graph that was imported: a module, and the values of its parameters.
#[derive(Debug)]
pub struct Imported {
    /// The module.
    pub module: GraphModule,
    /// The values of its parameters and buffers, in f64: `lif.tau` is `tau` of the node `lif`. Time constants are in
    /// steps.
    pub tensors: BTreeMap<String, Tensor>,
    /// How the graph runs in time steps.
    pub semantics: Semantics,
    /// What is doubtful in the graph, and how it is understood.
    pub warnings: Vec<String>,
}

impl Imported {
    /// A store with the tensors, for programs that are compiled from the module.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn store(&self, backend: Arc<dyn Backend>, float: DType) -> Result<VarStore> {
        let mut store = VarStore::new(backend);
        for (name, tensor) in &self.tensors {
            store.insert(name, &tensor.cast(float))?;
        }
        Ok(store)
    }
}

/// Imports a graph as a module that can be trained.
///
/// Nodes become layers and neurons with the names of the nodes; cycles become loops over time, and graphs in the graph
/// become part of it. Inputs are `[T, N, …]`, with T time steps and N samples.
///
/// ```
/// use spikelet_nir::{self as nir, ImportOptions};
/// use spikelet_nn::prelude::*;
/// # use spikelet_nir::{Lif as LifNode, Linear as LinearNode, NodeKind};
/// # let all = |value: f64| nir::Tensor::from_f64(&[3], &[value; 3]).unwrap();
/// # let weight = nir::Tensor::from_f32(&[3, 2], &[0.5; 6]).unwrap();
/// # let mut graph = nir::Graph::default();
/// # graph
/// #     .insert("input", NodeKind::Input { shape: vec![2] })
/// #     .insert("fc", NodeKind::Linear(LinearNode { weight }))
/// #     .insert("lif", NodeKind::Lif(LifNode {
/// #         tau: all(0.01), r: all(1.0), v_leak: all(0.0), v_threshold: all(1.0), v_reset: None,
/// #     }))
/// #     .insert("output", NodeKind::Output { shape: vec![3] })
/// #     .connect(&["input", "fc", "lif", "output"]);
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("network.nir");
/// # graph.write(&path).unwrap();
/// let graph = nir::read(&path)?;
/// let imported = nir::import(&graph, &ImportOptions::new(1e-3))?;
///
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 1, 2]); // [T, N, features]
/// let spikes = cx.trace(&imported.module, x)?;
/// assert_eq!(spikes.shape(), [8, 1, 3]);
/// let names: Vec<_> = cx.traced().parameters.into_iter().map(|p| p.name).collect();
/// assert_eq!(names, ["fc.weight"]); // trained; the neuron's parameters are buffers
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// [`NirError`](super::NirError) if the graph is wrong, no edge leads to a node, or the length of a step is unknown.
pub fn import(graph: &Graph, options: &ImportOptions) -> Result<Imported> {
    Ok(build(graph, options)?)
}

fn build(graph: &Graph, options: &ImportOptions) -> Result<Imported, NirError> {
    let checked = graph.check()?;
    let expanded = graph.expand()?;
    let semantics = semantics::of_graph(graph, &expanded, options)?;
    let order = schedule::schedule(&expanded, semantics.feedback)?;
    if order.inputs.is_empty() {
        return Err(NirError::node(
            "/",
            "the graph has no Input that begins a sequence",
            "add an Input, and connect it to the first node",
        ));
    }
    let mut tensors = BTreeMap::new();
    let mut nodes = vec![];
    for (path, node) in &expanded.nodes {
        let shape = checked.shapes.get(path).ok_or_else(|| {
            NirError::node(
                path,
                "its shape is unknown: no Input leads to it",
                "connect it to an Input, or remove it",
            )
        })?;
        let of_node = semantics::of_node(path, node, options, &semantics)?;
        let built = build_part(path, node, shape, &of_node, options)?;
        for (name, tensor) in built.tensors {
            tensors.insert(format!("{path}.{name}"), tensor);
        }
        nodes.push(GraphNode {
            path: path.clone(),
            kind: node.kind.name(),
            choices: of_node.recorded(&node.kind),
            part: built.part,
            shape: shape.output.clone(),
        });
    }
    let ports = |indices: &[usize], is_input: bool| {
        let port = |&index: &usize| {
            let path = nodes[index].path.clone();
            let shape = &checked.shapes[&path];
            let shape = if is_input {
                &shape.input
            } else {
                &shape.output
            };
            let shape = shape.clone();
            Port { index, path, shape }
        };
        indices.iter().map(port).collect()
    };
    let module = GraphModule {
        inputs: ports(&order.inputs, true),
        outputs: ports(&order.outputs, false),
        order,
        nodes,
        origin: Origin {
            graph: graph.clone(),
            options: options.clone(),
            semantics,
        },
    };
    Ok(Imported {
        module,
        tensors,
        semantics,
        warnings: checked.warnings.iter().map(ToString::to_string).collect(),
    })
}

fn build_part(
    path: &str,
    node: &Node,
    shape: &NodeShape,
    semantics: &NodeSemantics,
    options: &ImportOptions,
) -> Result<Built, NirError> {
    if let NodeKind::Input { .. } | NodeKind::Output { .. } = &node.kind {
        return Ok(Built::new(Part::Identity));
    }
    match neurons::build(&node.kind, &shape.input, semantics, options) {
        Some(neuron) => Ok(neuron),
        None => layers::build(path, &node.kind, shape, semantics.dt),
    }
}
