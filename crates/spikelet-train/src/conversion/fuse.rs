//! Batch normalization becomes part of the weights before it.
//!
//! (W·x + b − mean)·g + β = (g·W)·x + (b − mean)·g + β, with g = γ/√(variance + ε) of the running statistics.
//!
//! ```text
//! conv ─ batch-norm ─ relu        →   conv ─ relu
//! ```
//!
//! Batch normalization behind other layers stays as it is: in evaluation it is affine, and so the mean over time of its
//! outputs is that of its mean input.

use super::error::ConversionError;
use super::kinds::{self, WEIGHTS};
use super::network::Tensors;
use super::tree::{Layer, join};
use serde_json::{Value, json};

/// ε of a batch norm unless another is given.
const EPSILON: f64 = 1e-5;

/// Fuses the batch norms of a list, whose path is given.
pub(super) fn fuse(
    layers: Vec<Layer>,
    path: &str,
    tensors: &mut Tensors,
) -> Result<Vec<Layer>, ConversionError> {
    let mut fused: Vec<Layer> = vec![];
    for mut layer in layers {
        let at = join(path, &layer.name);
        kinds::check(&layer, &at)?;
        if layer.kind == "static" {
            to_group(&mut layer, &at, tensors);
        }
        for body in &mut layer.bodies {
            let inner = std::mem::take(&mut body.layers);
            body.layers = fuse(inner, &join(&at, &body.name), tensors)?;
        }
        if layer.kind == "batch-norm"
            && let Some((weights, of_weights)) = last_weights(&mut fused, path)
        {
            fold(weights, &of_weights, &layer, &at, tensors)?;
            continue;
        }
        fused.push(layer);
    }
    Ok(fused)
}

/// Makes a group of layers of those whose input is the same at all time steps: their neurons run over time.
fn to_group(layer: &mut Layer, path: &str, tensors: &mut Tensors) {
    layer.kind = "layers".to_string();
    for body in layer.bodies.iter_mut().filter(|body| body.is_single) {
        body.is_single = false;
        if let [single] = body.layers.as_mut_slice() {
            single.name = "0".to_string();
            tensors.rename(path, &join(path, "0"), &[]);
        }
    }
}

/// The layer with weights that is the last of a list, also of groups at its end, and its path.
fn last_weights<'l>(layers: &'l mut [Layer], path: &str) -> Option<(&'l mut Layer, String)> {
    let last = layers.last_mut()?;
    let at = join(path, &last.name);
    match last.kind.as_str() {
        "layers" => last_weights(&mut last.bodies.first_mut()?.layers, &at),
        kind if WEIGHTS.contains(&kind) => Some((last, at)),
        _ => None,
    }
}

/// Makes a batch norm part of weights.
fn fold(
    weights: &mut Layer,
    path: &str,
    norm: &Layer,
    norm_path: &str,
    tensors: &mut Tensors,
) -> Result<(), ConversionError> {
    let get = |tensors: &Tensors, name| Ok(tensors.get(&join(norm_path, name))?.1);
    let (mean, variance) = (get(tensors, "running_mean")?, get(tensors, "running_var")?);
    let (gamma, beta) = match norm.flag("affine") {
        Some(false) => {
            let scale = norm.fields.get("scale").and_then(Value::as_f64);
            (
                vec![scale.unwrap_or(1.0); mean.len()],
                vec![0.0; mean.len()],
            )
        }
        _ => (get(tensors, "weight")?, get(tensors, "bias")?),
    };
    let epsilon = norm.fields.get("epsilon").and_then(Value::as_f64);
    let epsilon = epsilon.unwrap_or(EPSILON);
    let factor: Vec<f64> = (gamma.iter().zip(&variance))
        .map(|(gamma, variance)| gamma / (variance + epsilon).sqrt())
        .collect();
    let [weight_name, bias_name] = ["weight", "bias"].map(|name| join(path, name));
    let (shape, mut weight) = tensors.get(&weight_name)?;
    let mut bias = match tensors.0.contains_key(&bias_name) {
        true => tensors.get(&bias_name)?.1,
        false => vec![0.0; mean.len()],
    };
    for (k, value) in weight.iter_mut().enumerate() {
        *value *= factor[output_of(weights, &shape, k)];
    }
    for (c, value) in bias.iter_mut().enumerate() {
        *value = (*value - mean[c]) * factor[c] + beta[c];
    }
    tensors.set(&weight_name, &shape, weight, &weight_name)?;
    tensors.set(&bias_name, &[bias.len()], bias, &weight_name)?;
    tensors.remove(norm_path);
    weights.fields.insert("bias".to_string(), json!(true));
    Ok(())
}

/// The output channel of element `k` of a weight.
fn output_of(layer: &Layer, shape: &[usize], k: usize) -> usize {
    let each: usize = shape[1..].iter().product();
    match layer.kind.as_str() {
        // [in, out/groups, …]
        "conv-transposed" => {
            let window: usize = shape[2..].iter().product();
            let group = k / each / (shape[0] / groups(layer)).max(1);
            group * shape[1] + k % each / window
        }
        // [out, …]
        _ => k / each,
    }
}

/// The number of groups of a convolution.
pub(super) fn groups(layer: &Layer) -> usize {
    let groups = layer.fields.get("groups").and_then(Value::as_u64);
    groups.map_or(1, |groups| groups as usize).max(1)
}
