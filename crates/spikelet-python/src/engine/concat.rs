//! Tensors of batches, joined.

use super::error::invalid;
use pyo3::prelude::*;
use spikelet::graph::{Data, Tensor};

/// Tensors of f32 one after the other along an axis.
pub(super) fn concat(parts: Vec<Tensor>, axis: usize) -> PyResult<Tensor> {
    let unlike = || {
        invalid(
            "predict",
            "the outputs of batches differ in their shapes",
            "",
        )
    };
    let first = parts.first().ok_or_else(unlike)?;
    if parts.len() == 1 {
        return Ok(first.clone());
    }
    let mut shape = first.shape.clone();
    if axis >= shape.len() {
        return Err(unlike());
    }
    shape[axis] = parts.iter().filter_map(|part| part.shape.get(axis)).sum();
    let outer: usize = shape[..axis].iter().product();
    let mut values = Vec::with_capacity(shape.iter().product());
    let data: Vec<Vec<f32>> = parts
        .iter()
        .map(|part| match &part.data {
            Data::F32(values) => values.clone(),
            _ => part
                .to_f64()
                .into_iter()
                .map(|value| value as f32)
                .collect(),
        })
        .collect();
    for row in 0..outer {
        for part in &data {
            let width = part.len() / outer.max(1);
            values.extend_from_slice(&part[row * width..(row + 1) * width]);
        }
    }
    Ok(Tensor {
        shape,
        data: Data::F32(values),
    })
}
