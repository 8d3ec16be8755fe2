//! The tensors and neurons of a network.

use super::value::NeuronRules;
use spikelet_core::Result;
use spikelet_graph::DType;
use spikelet_nn::module::{Context, Mode, Module, Tree, observer};
use spikelet_nn::neuron::Neuron;
use std::cell::RefCell;
use std::rc::Rc;

/// A tensor of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OurTensor {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// A neuron of a network.
pub(super) struct OurNeuron {
    /// Its path.
    pub path: String,
    /// Its type, such as `Lif`.
    pub kind: String,
    /// The rank of its input without time.
    pub rank: usize,
    /// Its names and constants in a framework; `None` if that has no such neuron.
    pub rules: Option<NeuronRules>,
}

/// The tensors and neurons of a network, in the order in which they run.
pub(super) struct NetworkTensors {
    pub tensors: Vec<OurTensor>,
    pub neurons: Vec<OurNeuron>,
    tree: Tree,
}

impl NetworkTensors {
    /// Traces a network for an input `[T, N, …]`, with the names and constants of its neurons. No values are computed.
    pub fn trace(
        module: &dyn Module,
        input: &[usize],
        rules: fn(&dyn Neuron) -> Option<NeuronRules>,
    ) -> Result<Self> {
        let neurons = Rc::new(RefCell::new(Vec::<OurNeuron>::new()));
        let found = neurons.clone();
        let visit = move |path: &str, neuron: &dyn Neuron, shape: &[usize]| {
            let mut neurons = found.borrow_mut();
            // A neuron in a loop is visited more than once.
            if !neurons.iter().any(|known| known.path == path) {
                neurons.push(OurNeuron {
                    path: path.to_string(),
                    kind: String::new(),
                    rank: shape.len().saturating_sub(1),
                    rules: rules(neuron),
                });
            }
        };
        let cx = Context::new(Mode::EVAL, DType::F32).observer(observer::Neurons::new(visit));
        let x = cx.tracer().input("x_seq", DType::F32, input);
        cx.trace(module, x)?;
        let traced = cx.traced();
        let tensors = traced.parameters.into_iter().chain(traced.buffers);
        let tensors = tensors.map(|tensor| OurTensor {
            name: tensor.name,
            shape: tensor.shape,
        });
        let mut network = Self {
            tensors: tensors.collect(),
            neurons: neurons.take(),
            tree: module.tree(),
        };
        for at in 0..network.neurons.len() {
            network.neurons[at].kind = network.kind(&network.neurons[at].path).to_string();
        }
        Ok(network)
    }

    /// The type of the module at a path, such as `Recurrent`.
    pub fn kind(&self, path: &str) -> &str {
        self.tree.find(path).map_or("", Tree::kind)
    }

    /// A tensor by name.
    pub fn tensor(&self, name: &str) -> Option<&OurTensor> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}

/// The path before the last part of a name, and the last part.
pub(super) fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// A name in a path; the path itself for an empty name.
pub(super) fn join(path: &str, name: &str) -> String {
    match (path.is_empty(), name.is_empty()) {
        (true, _) => name.to_string(),
        (_, true) => path.to_string(),
        _ => format!("{path}.{name}"),
    }
}
