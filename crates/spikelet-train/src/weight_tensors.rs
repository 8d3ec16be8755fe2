//! Tensors of networks as those of files with weights, and back.

use crate::scaling::LOSS_SCALES;
use spikelet_core::{Error, Result};
use spikelet_graph::{Data, Tensor};
use spikelet_weights::{Dtype, Weights};

/// Tensors of a network as [`Weights`], with their names, shapes and types.
///
/// # Errors
/// When two have the same name.
///
/// ```
/// use spikelet_graph::Tensor;
/// let bias = Tensor::f32([2], vec![0.5, -1.0]);
/// let weights = spikelet_train::weights::weights_of([("fc.bias", &bias)])?;
/// assert_eq!(weights.get("fc.bias").map(|tensor| tensor.shape()), Some(&[2][..]));
/// # Ok::<(), spikelet_core::Error>(())
/// ```
pub fn weights_of<'t>(tensors: impl IntoIterator<Item = (&'t str, &'t Tensor)>) -> Result<Weights> {
    let mut weights = Weights::default();
    for (name, tensor) in tensors {
        let (dtype, bytes): (Dtype, Vec<u8>) = match &tensor.data {
            Data::F32(values) => (Dtype::F32, bytes(values, |x| x.to_le_bytes())),
            Data::F64(values) => (Dtype::F64, bytes(values, |x| x.to_le_bytes())),
            Data::F16(values) => (Dtype::F16, bytes(values, |x| x.to_le_bytes())),
            Data::BF16(values) => (Dtype::BF16, bytes(values, |x| x.to_le_bytes())),
            Data::I64(values) => (Dtype::I64, bytes(values, |x| x.to_le_bytes())),
        };
        let tensor = spikelet_weights::Tensor::new(dtype, tensor.shape.clone(), bytes);
        let inserted = tensor.and_then(|tensor| weights.insert(name, tensor));
        inserted.map_err(Error::other)?;
    }
    Ok(weights)
}

fn bytes<T: Copy, const N: usize>(values: &[T], to_bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| to_bytes(value)).collect()
}

/// A tensor of a file as one of F32, the type of all tensors of networks.
///
/// ```
/// let half = spikelet_weights::Tensor::from_f64(&[2], &[0.5, -1.0])?;
/// let tensor = spikelet_train::weights::tensor_of(&half);
/// assert_eq!(tensor.to_f64(), [0.5, -1.0]);
/// # Ok::<(), spikelet_weights::Error>(())
/// ```
pub fn tensor_of(tensor: &spikelet_weights::Tensor) -> Tensor {
    Tensor::f32(tensor.shape(), tensor.to_f32())
}

/// The beginnings of the names of tensors that belong to the training, not to the network.
const OF_TRAINING: [&str; 3] = ["optimizer.", "ema.", "accumulated."];

/// Whether a tensor of this name is needed for training only.
///
/// ```
/// use spikelet_train::weights::belongs_to_training;
/// assert!(belongs_to_training("ema.fc.weight") && !belongs_to_training("fc.weight"));
/// ```
pub fn belongs_to_training(name: &str) -> bool {
    OF_TRAINING.iter().any(|prefix| name.starts_with(prefix)) || LOSS_SCALES.contains(&name)
}

/// The tensors of the network in a file: without those that only training needs, and averages where there are any.
///
/// ```
/// use spikelet_weights::{Tensor, Weights};
/// let mut file = Weights::default();
/// file.insert("fc.weight", Tensor::from_f32(&[1], &[0.5])?)?;
/// file.insert("optimizer.mean.fc.weight", Tensor::from_f32(&[1], &[0.1])?)?;
/// let own = spikelet_train::weights::of_the_model(&file)?;
/// assert_eq!(own.iter().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a tensor has no valid name.
pub fn of_the_model(weights: &Weights) -> Result<Weights> {
    let mut model = Weights::default();
    for (name, own) in weights
        .iter()
        .filter(|(name, _)| !belongs_to_training(name))
    {
        let average = weights.get(&format!("ema.{name}"));
        let inserted = model.insert(name, average.unwrap_or(own).clone());
        inserted.map_err(Error::other)?;
    }
    Ok(model)
}
