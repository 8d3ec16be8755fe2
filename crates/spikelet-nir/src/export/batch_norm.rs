//! Batch normalization becomes part of the weights before it.
//!
//! (W·x + b − mean)·g + bias = (g·W)·x + (b − mean)·g + bias, with g = weight / √(variance + ε)

use super::super::error::NirError;
use super::refused;
use super::writer::Writer;
use crate::graph::{Affine, NodeKind};
use spikelet_core::Result;
use spikelet_weights::{Dtype, Tensor};

/// `scale` is the weight, if it is a constant; then there is no bias.
pub(super) fn fold(
    writer: &mut Writer<'_>,
    path: &str,
    channels: usize,
    epsilon: f64,
    scale: Option<f64>,
) -> Result<()> {
    let stored = |name| writer.tensor(path, name).map(|tensor| tensor.to_f64());
    let (mean, variance) = (stored("running_mean")?, stored("running_var")?);
    let (weight, bias) = match scale {
        None => (stored("weight")?, stored("bias")?),
        Some(scale) => (vec![scale; channels], vec![0.0; channels]),
    };
    let factor: Vec<f64> = (weight.iter().zip(&variance))
        .map(|(weight, variance)| weight / (variance + epsilon).sqrt())
        .collect();
    let shift = |before: &[f64]| -> Vec<f64> {
        (0..channels)
            .map(|c| (before[c] - mean[c]) * factor[c] + bias[c])
            .collect()
    };
    let name = writer.last_name();
    let (Some(node), Some(name)) = (writer.last(), name) else {
        return Err(refused::batch_norm(path).into());
    };
    match &mut node.kind {
        NodeKind::Linear(linear) if linear.weight.shape()[0] == channels => {
            let zeros = vec![0.0; channels];
            node.kind = NodeKind::Affine(Affine {
                weight: scaled(&linear.weight, &factor)?,
                bias: like(&linear.weight, &[channels], &shift(&zeros))?,
            });
        }
        NodeKind::Affine(affine) if affine.bias.shape() == [channels] => {
            affine.bias = like(&affine.bias, &[channels], &shift(&affine.bias.to_f64()))?;
            affine.weight = scaled(&affine.weight, &factor)?;
        }
        NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) if conv.bias.shape() == [channels] => {
            conv.bias = like(&conv.bias, &[channels], &shift(&conv.bias.to_f64()))?;
            conv.weight = scaled(&conv.weight, &factor)?;
        }
        _ => return Err(refused::batch_norm(path).into()),
    }
    let text = format!("the batch normalization `{path}` is part of weight and bias");
    writer.changed(&name, "folded", &text);
    Ok(())
}

/// A weight `[out, …]` with a factor for each output.
fn scaled(weight: &Tensor, factor: &[f64]) -> Result<Tensor, NirError> {
    let values = weight.to_f64();
    let each = values.len() / factor.len().max(1);
    let values: Vec<f64> = values
        .iter()
        .enumerate()
        .map(|(k, value)| value * factor[k / each.max(1)])
        .collect();
    like(weight, weight.shape(), &values)
}

/// Values of the type of another parameter.
fn like(other: &Tensor, shape: &[usize], values: &[f64]) -> Result<Tensor, NirError> {
    if other.dtype() == Dtype::F64 {
        return Ok(Tensor::from_f64(shape, values)?);
    }
    let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    Ok(Tensor::from_f32(shape, &values)?)
}
