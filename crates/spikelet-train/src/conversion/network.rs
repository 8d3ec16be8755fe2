//! A network with its tensors, as passes change it.

use super::error::ConversionError;
use super::tree::{self, Layer};
use spikelet_core::Result;
use spikelet_graph::{DType, Tensor};
use spikelet_nn::module::{Context, Mode, Module};
use spikelet_nn::network::{Layers, Network};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A list of layers with the tensors of its parameters and buffers.
///
/// ```
/// use spikelet_nn::network::{Layers, Network};
/// use spikelet_nn::prelude::*;
/// use spikelet_train::conversion::TrainedLayers;
/// use std::collections::BTreeMap;
/// let text = "[network]\ninput = [2]\nlayers = [{ linear = 3 }, \"relu\", { linear = 1 }]";
/// let network = Network::Layers(Layers::from_toml("net.toml", text, &[])?);
/// let tensors = BTreeMap::from([
///     ("0.weight".to_string(), Tensor::f32([3, 2], [0.5; 6])),
///     ("2.weight".to_string(), Tensor::f32([1, 3], [1.0; 3])),
/// ]);
/// assert_eq!(TrainedLayers::new(&network, tensors)?.layers.layers.len(), 3);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedLayers {
    /// The layers.
    pub layers: Layers,
    /// Parameters and buffers by name.
    pub tensors: BTreeMap<String, Tensor>,
}

impl TrainedLayers {
    /// A network with its tensors. Those that the network does not have are left out.
    ///
    /// # Errors
    /// [`ConversionError::Tensor`] if a tensor is missing or has another shape; errors of the network.
    pub fn new(network: &Network, mut tensors: BTreeMap<String, Tensor>) -> Result<Self> {
        let layers = network.layers()?;
        let made = Self {
            tensors: BTreeMap::new(),
            layers,
        };
        let module = made.module()?;
        let cx = Context::new(Mode::EVAL, DType::F32);
        let shape = [&[1, 1][..], &made.layers.input].concat();
        let x = cx.tracer().input("x_seq", DType::F32, shape);
        cx.trace(&*module, x)?;
        let traced = cx.traced();
        let mut kept = BTreeMap::new();
        for own in traced.parameters.iter().chain(&traced.buffers) {
            let wrong = |problem: String| ConversionError::Tensor {
                name: own.name.clone(),
                problem,
            };
            let tensor = tensors.remove(&own.name);
            let tensor = tensor.ok_or_else(|| wrong("it is missing".to_string()))?;
            if tensor.shape != own.shape {
                let problem = format!("its shape is {:?}, expected {:?}", tensor.shape, own.shape);
                return Err(wrong(problem).into());
            }
            kept.insert(own.name.clone(), tensor);
        }
        Ok(Self {
            tensors: kept,
            ..made
        })
    }

    /// The module.
    ///
    /// # Errors
    /// When a layer is wrong.
    pub fn module(&self) -> Result<Arc<dyn Module>> {
        self.layers.module()
    }

    /// The layers as a tree.
    pub(super) fn tree(&self) -> Result<Vec<Layer>, ConversionError> {
        tree::read(&self.layers.layers, "")
    }

    /// The network with other layers.
    pub(super) fn with(&self, tree: &[Layer], tensors: Tensors) -> Self {
        Self {
            layers: Layers {
                layers: tree::write(tree),
                ..self.layers.clone()
            },
            tensors: tensors.0,
        }
    }
}

/// Tensors by name, while passes change them. Products and sums are computed in f64.
pub(super) struct Tensors(pub BTreeMap<String, Tensor>);

impl Tensors {
    /// Adds a tensor `[C]` of the type of the others.
    pub fn insert(&mut self, name: &str, values: &[f64]) {
        let dtype = self
            .0
            .values()
            .next()
            .map_or(DType::F32, |other| other.ty().dtype);
        let tensor = Tensor::f64([values.len()], values).cast(dtype);
        self.0.insert(name.to_string(), tensor);
    }

    /// The shape and the values of a tensor.
    pub fn get(&self, name: &str) -> Result<(Vec<usize>, Vec<f64>), ConversionError> {
        let tensor = self.0.get(name).ok_or_else(|| missing(name))?;
        Ok((tensor.shape.clone(), tensor.to_f64()))
    }

    /// Sets a tensor; its type is that of the tensor `like`.
    pub fn set(
        &mut self,
        name: &str,
        shape: &[usize],
        values: Vec<f64>,
        like: &str,
    ) -> Result<(), ConversionError> {
        let dtype = match self.0.get(like) {
            Some(tensor) => tensor.ty().dtype,
            None => return Err(missing(like)),
        };
        let tensor = Tensor::f64(shape, values).cast(dtype);
        self.0.insert(name.to_string(), tensor);
        Ok(())
    }

    /// Removes the tensors of a layer.
    pub fn remove(&mut self, path: &str) {
        self.0.retain(|name, _| rest(name, path).is_none());
    }

    /// Gives the tensors of a layer another path, without those of the layers `kept`.
    pub fn rename(&mut self, path: &str, new: &str, kept: &[String]) {
        let renamed = std::mem::take(&mut self.0).into_iter();
        let renamed = renamed.map(|(name, tensor)| match rest(&name, path) {
            Some(of_layer) if !kept.iter().any(|kept| rest(&name, kept).is_some()) => {
                (tree::join(new, of_layer), tensor)
            }
            _ => (name, tensor),
        });
        self.0 = renamed.collect();
    }
}

/// The name in the layer of this path.
fn rest<'n>(name: &'n str, path: &str) -> Option<&'n str> {
    match path {
        "" => Some(name),
        path => name.strip_prefix(path)?.strip_prefix('.'),
    }
}

fn missing(name: &str) -> ConversionError {
    ConversionError::Tensor {
        name: name.to_string(),
        problem: "it is missing".to_string(),
    }
}
