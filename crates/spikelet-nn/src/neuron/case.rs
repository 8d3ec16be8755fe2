//! Reference cases: one file with a neuron's specification, its inputs and its expected outputs.
//!
//! A case is a safetensors file whose metadata has `spec` (see [`super::from_spec`]) and whose
//! tensors are `x_seq [T, N]`, `v_init [N]`, trainable parameters by name, `grad_spike_seq` and
//! `grad_v_seq` (or `grad_out`). The result has `spike_seq` (or `out`), `v_seq` and the sequences
//! of other states, `grad_x_seq`, `grad_v_init` and `grad_<parameter>`. Tensors of these names are
//! the expected results, and are not read.

use super::{Inputs, Neuron, from_spec, run};
use crate::DefinitionError;
use crate::tensors::TensorFile;
use serde_json::Value;
use spikelet_core::{Error, Result};
use spikelet_graph::{Backend, Tensor};
use std::path::Path;
use std::sync::Arc;

/// The neuron of a case's specification: as [`from_spec`], with SpikingJelly's name `decode` of the
/// readout.
///
/// # Errors
/// As [`from_spec`].
pub fn case_neuron(spec: &Value) -> Result<Arc<dyn Neuron>, DefinitionError> {
    let mut spec = spec.clone();
    if let Some(constants) = spec.get_mut("params").and_then(Value::as_object_mut)
        && let Some(readout) = constants.remove("decode")
    {
        constants.insert("readout".to_string(), readout);
    }
    from_spec(&spec)
}

/// Runs the case of a file and returns the results, with the same `spec`.
///
/// # Errors
/// When the file is no case, or its neuron is not known.
pub fn run_case(case: &TensorFile, path: &Path, backend: Arc<dyn Backend>) -> Result<TensorFile> {
    let bad = |problem: String| Error::TensorFile {
        path: path.to_path_buf(),
        problem,
        help: "give a neuron case: metadata `spec` and the tensor `x_seq` [T, N]".to_string(),
    };
    let spec = case
        .metadata
        .get("spec")
        .ok_or_else(|| bad("no `spec` in the metadata".to_string()))?;
    let spec: Value =
        serde_json::from_str(spec).map_err(|e| bad(format!("`spec` is not JSON: {e}")))?;
    let neuron = case_neuron(&spec).map_err(|error| bad(error.to_string()))?;
    let tensor = |name: &str| case.tensors.get(name).cloned();
    let mut inputs = Inputs {
        x_seq: tensor("x_seq"),
        grad_spike_seq: tensor("grad_spike_seq"),
        grad_v_seq: tensor("grad_v_seq"),
        grad_out: tensor("grad_out"),
        ..Inputs::default()
    };
    let has_v = neuron.states().iter().any(|s| s.name == "v");
    inputs.states.extend(
        tensor("v_init")
            .filter(|_| has_v)
            .map(|v| ("v".to_string(), v)),
    );
    let given = case.tensors.iter().filter(|(name, _)| is_parameter(name));
    inputs
        .params
        .extend(given.map(|(name, v)| (name.clone(), v.clone())));
    let made = run(&*neuron, &inputs, backend)?;
    let kept = made
        .into_iter()
        .filter(|(name, _)| name == "grad_v_init" || !name.ends_with("_init"));
    Ok(TensorFile {
        tensors: kept.collect(),
        metadata: case.metadata.clone(),
    })
}

/// Whether a tensor of a case is a parameter, and not one of those that all neurons have.
fn is_parameter(name: &str) -> bool {
    let others = name.starts_with("grad_") || name.ends_with("_seq") || name.ends_with("_init");
    !others && name != "out"
}

/// The first difference of two tensors, and the largest.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The tensor.
    pub tensor: String,
    /// The index of the first element that differs, for each axis, beginning with the time step.
    pub first: Vec<usize>,
    /// The two values at this index.
    pub values: (f64, f64),
    /// The largest absolute difference.
    pub largest: f64,
    /// The number of elements that differ.
    pub count: usize,
}

/// Compares the tensors that two files have in common, element by element: NaN equals NaN.
/// Tensors of different shapes differ at their first element.
pub fn differences(a: &TensorFile, b: &TensorFile) -> Vec<Difference> {
    let common = a
        .tensors
        .iter()
        .filter_map(|(name, x)| Some((name, x, b.tensors.get(name)?)));
    common
        .filter_map(|(name, x, y)| difference(name, x, y))
        .collect()
}

fn difference(name: &str, x: &Tensor, y: &Tensor) -> Option<Difference> {
    let (xs, ys) = (x.to_f64(), y.to_f64());
    if x.shape != y.shape {
        return Some(Difference {
            tensor: format!("{name} ({:?} and {:?})", x.shape, y.shape),
            first: vec![],
            values: (f64::NAN, f64::NAN),
            largest: f64::NAN,
            count: xs.len().max(ys.len()),
        });
    }
    let differs = |(a, b): (&f64, &f64)| a != b && !(a.is_nan() && b.is_nan());
    let apart: Vec<usize> = (0..xs.len())
        .filter(|&i| differs((&xs[i], &ys[i])))
        .collect();
    let &at = apart.first()?;
    let mut rest = at;
    let mut first = vec![0; x.shape.len()];
    for (index, n) in first.iter_mut().zip(&x.shape).rev() {
        *index = rest % n;
        rest /= n;
    }
    let distance = |&i: &usize| (xs[i] - ys[i]).abs();
    Some(Difference {
        tensor: name.to_string(),
        first,
        values: (xs[at], ys[at]),
        largest: apart.iter().map(distance).fold(0.0, f64::max),
        count: apart.len(),
    })
}
