//! Layers as PyTorch operators.

mod call;
mod kernel;
mod layout;
mod register;
mod shim;
mod tensor;
mod workers;
mod workspace;

use crate::errors::exception;
use crate::operator::{self, Definition, Signature};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spikelet_graph::op::Recurrence;
use spikelet_nn::layer::DelayWidth;
use spikelet_nn::neuron::{self, OutputKind};

/// Registers the operators with this many states and parameters with the libtorch at these paths, which the process has
/// loaded.
#[pyfunction]
fn register_layer(torch: &str, gpu: Option<&str>, states: usize, params: usize) -> PyResult<()> {
    register::register(torch, gpu, states, params).map_err(PyRuntimeError::new_err)
}

/// The names and schemas of the operators with this many states and parameters.
#[pyfunction]
fn layer_schemas(states: usize, params: usize) -> Vec<(String, String)> {
    register::schemas(states, params).into()
}

/// The description of a layer: its name, states, parameters and the kind of its output, for inputs of a shape.
#[pyfunction]
fn describe_layer<'py>(
    py: Python<'py>,
    definition: &str,
    shape: Vec<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let definition = Definition::find(definition).map_err(exception)?;
    let signature = operator::signature(&definition, &shape).map_err(exception)?;
    let Signature {
        states,
        params,
        output,
        ..
    } = &signature;
    let neuron = definition.neuron();
    let resets = neuron.map(|neuron| neuron.states()).unwrap_or_default();
    let all = PyDict::new(py);
    all.set_item("name", definition.name())?;
    all.set_item("elementwise", definition.elementwise)?;
    all.set_item("parallel", neuron.is_some_and(neuron::is_parallel))?;
    all.set_item("output", output.clone())?;
    let kind = neuron.map(|neuron| neuron.output_kind());
    all.set_item("spikes", matches!(kind, Some(OutputKind::Spikes)))?;
    let shapes = definition.shapes();
    let shapes = shapes.map(|all| (all.output.clone(), all.states.clone()));
    all.set_item("shapes", shapes)?;
    let list: Vec<(&str, f64)> = states
        .iter()
        .map(|state| {
            let short = state.name.rsplit('.').next().unwrap_or(&state.name);
            let reset = resets.iter().find(|s| s.name == short);
            (
                definition.own_name(&state.name),
                reset.map_or(0.0, |s| s.reset),
            )
        })
        .collect();
    all.set_item("states", list)?;
    let list: Vec<(&str, Vec<usize>, bool)> = (params.iter().zip(&signature.init))
        .map(|(p, (_, trained))| (definition.own_name(&p.name), p.shape.clone(), *trained))
        .collect();
    all.set_item("params", list)?;
    Ok(all)
}

/// Which states of a layer start from random values.
#[pyfunction]
fn random_states(definition: &str) -> PyResult<Vec<bool>> {
    let definition = Definition::find(definition).map_err(exception)?;
    let states = definition.neuron().map(|neuron| neuron.states());
    let states = states.unwrap_or_default();
    Ok(states.iter().map(|state| state.start.is_some()).collect())
}

/// A warning about a layer, if there is one.
#[pyfunction]
fn layer_warning(definition: &str) -> PyResult<Option<String>> {
    let definition = Definition::find(definition).map_err(exception)?;
    Ok(definition.neuron().and_then(neuron::warning))
}

/// The width of the kernels of learned delays in an epoch.
#[pyfunction]
fn delay_width(start: f64, end: f64, epochs: usize, epoch: usize) -> f64 {
    DelayWidth::new(start, end, epochs).at(epoch)
}

/// The initial values of the parameters of a layer for inputs of a shape: a list of values for each.
#[pyfunction]
fn initial_params(definition: &str, shape: Vec<usize>, seed: u64) -> PyResult<Vec<Vec<f32>>> {
    let definition = Definition::find(definition).map_err(exception)?;
    let signature = operator::signature(&definition, &shape).map_err(exception)?;
    let values = signature.params.iter().zip(signature.init);
    Ok(values
        .map(|(p, (init, _))| init.values(&p.name, seed, p.shape.iter().product()))
        .collect())
}

/// Adds a folder in which CUDA's libraries are searched for.
#[pyfunction]
fn search_libraries_in(folder: &str) {
    spikelet_cuda::library::search_in(folder);
}

/// The equations of one time step: the output and the next value of each state.
#[pyfunction]
fn layer_equations(definition: &str) -> PyResult<Vec<(String, String)>> {
    let step = step_of(definition)?;
    let outputs = step
        .outputs
        .iter()
        .map(|o| (o.name.clone(), o.value.to_string()));
    let next = step.states.iter().zip(&step.next);
    let next = next.map(|(name, value)| (name.clone(), value.to_string()));
    Ok(outputs.chain(next).collect())
}

/// The gradients of one time step: of the input, the states before it and the parameters, from those of the output and of
/// the states after it, which have the prefix `d_`.
#[pyfunction]
fn layer_gradients(definition: &str) -> PyResult<Vec<(String, String)>> {
    let step = step_of(definition)?;
    let names = [&step.inputs, &step.states, &step.params];
    let names = names
        .into_iter()
        .flatten()
        .map(|name| Recurrence::grad_name(name));
    let gradients = step.step_gradients();
    Ok(names
        .zip(gradients.iter().map(ToString::to_string))
        .collect())
}

/// The texts of the CUDA kernels of a neuron, for `time_steps` steps of about `neurons` neurons.
#[pyfunction]
fn layer_kernel(
    definition: &str,
    backward: bool,
    time_steps: usize,
    neurons: usize,
    capability: (i32, i32),
) -> PyResult<String> {
    let definition = Definition::find(definition).map_err(exception)?;
    operator::kernel_texts(&definition, backward, [time_steps, neurons], capability)
        .map_err(exception)
}

fn step_of(definition: &str) -> PyResult<Recurrence> {
    let definition = Definition::find(definition).map_err(exception)?;
    let neuron = definition.neuron().ok_or_else(|| {
        exception(spikelet_core::Error::invalid(
            format!("`{}`", definition.name()),
            "it is not a neuron and has no equations of a time step",
            "give the definition of a neuron",
        ))
    })?;
    neuron::derive(neuron).map_err(|error| exception(spikelet_core::Error::other(error)))
}

/// Adds the classes and functions of the operators to the module.
pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(register_layer, m)?)?;
    m.add_function(wrap_pyfunction!(layer_schemas, m)?)?;
    m.add_function(wrap_pyfunction!(describe_layer, m)?)?;
    m.add_function(wrap_pyfunction!(initial_params, m)?)?;
    m.add_function(wrap_pyfunction!(random_states, m)?)?;
    m.add_function(wrap_pyfunction!(layer_warning, m)?)?;
    m.add_function(wrap_pyfunction!(delay_width, m)?)?;
    m.add_function(wrap_pyfunction!(search_libraries_in, m)?)?;
    m.add_function(wrap_pyfunction!(layer_equations, m)?)?;
    m.add_function(wrap_pyfunction!(layer_gradients, m)?)?;
    m.add_function(wrap_pyfunction!(layer_kernel, m)?)?;
    Ok(())
}
