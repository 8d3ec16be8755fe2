//! Cases of one neuron: forward, and backward from given gradients.

use super::{Results, bounded, expect, limited, wrong};
use serde_json::Value;
use spikelet::Result;
use spikelet::graph::{Backend, DType};
use spikelet::neuron::{self, Neuron, derive, run_case};
use spikelet::tensors::TensorFile;
use std::path::Path;
use std::sync::Arc;

pub fn run(
    case: &TensorFile,
    path: &Path,
    spec: &Value,
    backend: Arc<dyn Backend>,
    dtype: DType,
) -> Result<Results> {
    let neuron = neuron::case_neuron(spec)
        .map_err(|problem| wrong(problem.to_string(), "correct the neuron's specification"))?;
    check_sizes(case, spec)?;
    for learned in neuron::trainables(&*neuron).map_err(|e| wrong(e.to_string(), "correct it"))? {
        super::raw(case, &learned.name)?;
    }
    let mut inputs = case.clone();
    for tensor in inputs.tensors.values_mut() {
        *tensor = tensor.cast(dtype);
    }
    let mut results = run_case(&inputs, path, backend)?.tensors;
    let expected = expected(case, spec, &*neuron, &results)?;
    results.retain(|name, _| expected(name));
    Ok(results)
}

/// Checks that sizes are those of the specification and take limited time.
fn check_sizes(case: &TensorFile, spec: &Value) -> Result<()> {
    let x = &super::raw(case, "x_seq")?.shape;
    let Some((&time_steps, step)) = x.split_first() else {
        return Err(wrong("`x_seq` has no axes", "give `x_seq` [T, N]"));
    };
    bounded(x)?;
    let neurons = bounded(step)?;
    let size = |name: &str| spec[name].as_u64().map(|n| n as usize);
    let said = [
        size("T").unwrap_or(time_steps),
        size("N").unwrap_or(neurons),
    ];
    expect("x_seq", &[time_steps, neurons], &said)?;
    for name in ["grad_spike_seq", "grad_v_seq"] {
        if let Some(given) = case.tensors.get(name) {
            expect(name, &given.shape, x)?;
        }
    }
    for name in ["v_init", "grad_out"] {
        if let Some(given) = case.tensors.get(name) {
            expect(name, &given.shape, step)?;
        }
    }
    // A parallel neuron multiplies with a matrix over the time axis.
    match case.tensors.get("weight") {
        Some(weight) => limited(
            &[weight.len().max(1), neurons],
            super::MOST_PRODUCTS,
            "products",
        ),
        None => Ok(0),
    }?;
    Ok(())
}

/// The results of a neuron that a case has.
fn expected<'a>(
    case: &TensorFile,
    spec: &Value,
    neuron: &'a dyn Neuron,
    results: &Results,
) -> Result<impl Fn(&str) -> bool + use<'a>> {
    let read_out = results.contains_key("out");
    let fires = spec["output"] != "none";
    let step = derive(neuron).map_err(|e| wrong(e.to_string(), "correct the neuron"))?;
    let v = step.states.iter().position(|name| name == "v");
    // Gradients of the inputs come first, then those of the states.
    let gradient = v.map(|v| step.step_gradients().swap_remove(step.inputs.len() + v));
    let detached = gradient.is_none_or(|grad| grad.as_constant() == Some(0.0));
    let from_v = case.tensors.contains_key("v_init") && !detached;
    Ok(move |name: &str| match name {
        "spike_seq" => fires && !read_out,
        "v_seq" => !read_out,
        "out" | "trace_seq" => true,
        "grad_v_init" => from_v,
        other => other.starts_with("grad_"),
    })
}
