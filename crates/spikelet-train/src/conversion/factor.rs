//! Factors of activations: thresholds of neurons, and what their spikes are worth.

use super::error::ConversionError;
use super::fuse::groups;
use super::network::Tensors;
use super::tree::{Layer, join};

/// The scale of an activation: the threshold of the neurons in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivationScale {
    /// The path of the activation.
    pub layer: String,
    /// The scale.
    pub scale: Factor,
}

/// One factor for a layer, or one for each channel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Factor {
    /// Of all neurons.
    Layer(f64),
    /// Of each channel.
    Channel(Vec<f64>),
}

impl Factor {
    /// The factors of all channels, or one.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Layer(value) => std::slice::from_ref(value),
            Self::Channel(values) => values,
        }
    }

    /// The factor of element `k` of a sample with `elements` elements, channels first.
    pub(super) fn of(&self, k: usize, elements: usize) -> f64 {
        match self {
            Self::Layer(value) => *value,
            Self::Channel(values) => values[k * values.len() / elements.max(1)],
        }
    }

    /// Checks that all are finite and above 0.
    pub(super) fn check(&self, layer: &str, help: &'static str) -> Result<(), ConversionError> {
        let wrong = |value: &f64| !(value.is_finite() && *value > 0.0);
        match self.values().iter().position(wrong) {
            None => Ok(()),
            Some(k) => Err(ConversionError::Scale {
                layer: layer.to_string(),
                channel: matches!(self, Self::Channel(_)).then_some(k),
                value: self.values()[k],
                help,
            }),
        }
    }

    /// Makes the factor of the inputs of a layer part of its weight.
    pub(super) fn fold_into(
        &self,
        layer: &Layer,
        path: &str,
        tensors: &mut Tensors,
    ) -> Result<(), ConversionError> {
        let name = join(path, "weight");
        let (shape, mut weight) = tensors.get(&name)?;
        let inputs = inputs_of(layer, &shape);
        for (k, value) in weight.iter_mut().enumerate() {
            *value *= self.of(input_of(layer, &shape, k), inputs);
        }
        tensors.set(&name, &shape, weight, &name)
    }
}

/// The number of input channels or features of a weight.
fn inputs_of(layer: &Layer, shape: &[usize]) -> usize {
    match layer.kind.as_str() {
        "conv-transposed" => shape[0],
        _ => shape[1] * groups(layer),
    }
}

/// The input channel of element `k` of a weight.
fn input_of(layer: &Layer, shape: &[usize], k: usize) -> usize {
    let each: usize = shape[1..].iter().product();
    let window: usize = shape[2..].iter().product();
    match layer.kind.as_str() {
        // [in, out/groups, …]
        "conv-transposed" => k / each,
        // [out, in/groups, …]
        _ => {
            let group = k / each / (shape[0] / groups(layer)).max(1);
            group * shape[1] + k % each / window
        }
    }
}
