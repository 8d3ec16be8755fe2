//! The step of a function of Python and of its definition.

use super::error::{invalid, raise};
use super::graph::{PyMetric, within};
use super::var::{PyVar, dtype_of, made};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use spikelet::document::Node;
use spikelet::graph::Precision;
use spikelet::module::{Context, Propagation};
use spikelet::optim::{Clip, OPTIMIZERS};
use spikelet::train::{Inputs, Outputs, ParameterGroup, Step};
use std::sync::Arc;

/// The result of the function of a step: loss, metrics, outputs.
type Returned<'py> = (
    PyRef<'py, PyVar>,
    Vec<(String, Bound<'py, PyAny>)>,
    Vec<(String, PyRef<'py, PyVar>)>,
);

/// Calls the function of a step with its inputs.
fn call(
    function: &Py<PyAny>,
    names: &[String],
    cx: &Context,
    inputs: &Inputs,
) -> PyResult<Outputs> {
    Python::attach(|py| {
        let given = PyDict::new(py);
        for name in names {
            let var = inputs.get(name).map_err(raise)?.clone();
            given.set_item(name, made(var)?)?;
        }
        let returned = within(cx, || function.call1(py, (given,)))?;
        let (loss, metrics, outputs): Returned<'_> = returned.bind(py).extract()?;
        let mut made = Outputs::loss(&loss.var);
        for (name, metric) in metrics {
            made = match metric.cast::<PyMetric>() {
                Ok(metric) => made.metric(name, metric.borrow().metric.clone()),
                Err(_) => made.metric(name, &metric.extract::<PyRef<'_, PyVar>>()?.var),
            };
        }
        for (name, output) in outputs {
            made = made.output(name, &output.var);
        }
        Ok(made)
    })
}

/// The step of a definition.
pub(super) fn defined(function: Arc<Py<PyAny>>, definition: &Value) -> PyResult<Step<'static>> {
    let inputs = definition["inputs"].as_array().cloned().unwrap_or_default();
    let names: Vec<String> = (inputs.iter())
        .filter_map(|input| input["name"].as_str().map(String::from))
        .collect();
    let declared = names.clone();
    let mut step = Step::new(move |cx: &Context, inputs: &Inputs| {
        call(&function, &names, cx, inputs).map_err(spikelet::Error::other)
    });
    for (name, input) in declared.iter().zip(&inputs) {
        let dtype = dtype_of(input["dtype"].as_str().unwrap_or("f32"))?;
        let shape: Vec<usize> = serde_json::from_value(input["shape"].clone()).map_err(|_| {
            invalid(
                name,
                "its shape is no list of sizes",
                "give for example (10, 4)",
            )
        })?;
        step = match input["kind"].as_str() {
            Some("sequence") => step.sequence(name, dtype, shape),
            Some("shared") => step.shared_input(name, dtype, shape),
            _ => step.input(name, dtype, shape),
        };
    }
    let number = |key: &str| definition[key].as_f64();
    let flag = |key: &str| definition[key] == true;
    let text = |key: &str| definition[key].as_str();
    let count = |key: &str| definition[key].as_u64().map(|count| count as usize);
    let main = Node::from_json(&definition["optimizer"])
        .and_then(|main| OPTIMIZERS.read("optimizer", &main));
    let main = main.map_err(|error| raise(error.without_text("the step")))?;
    for group in definition["groups"].as_array().into_iter().flatten() {
        let group: ParameterGroup = serde_json::from_value(group.clone()).map_err(|error| {
            invalid(
                "groups",
                error.to_string(),
                "give parameters, optimizer, constants, lr or frozen",
            )
        })?;
        let own = group.config(&*main).map_err(raise)?;
        step = match group.frozen {
            true => step.freeze(group.parameters),
            false => step.group(group.parameters, own),
        };
    }
    step = step.optimizer(main);
    if flag("no_weight_decay_on_vectors") {
        step = step.no_weight_decay_on_vectors();
    }
    let clip = match (number("clip_norm"), number("clip_value")) {
        (Some(norm), _) => Some(Clip::Norm(norm)),
        (None, Some(value)) => Some(Clip::Value(value)),
        _ => None,
    };
    for pattern in definition["read_gradients"]
        .as_array()
        .into_iter()
        .flatten()
    {
        step = step.read_gradients(pattern.as_str().unwrap_or_default());
    }
    for pattern in definition["read_activations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        step = step.read_activations(pattern.as_str().unwrap_or_default());
    }
    if let Some(precision) = text("precision") {
        let parsed: Result<Precision, _> = precision.parse();
        let known = || Precision::ALL.map(|precision| precision.name()).join(", ");
        step = step.precision(
            parsed.map_err(|_| invalid("precision", precision, format!("use {}", known())))?,
        );
    }
    if let Some(order) = text("propagation") {
        let parsed: Result<Propagation, _> = order.parse();
        let known = || Propagation::ALL.map(|order| order.name()).join(", ");
        step = step.propagation(
            parsed.map_err(|_| invalid("propagation", order, format!("use {}", known())))?,
        );
    }
    if let Some(budget) = text("memory_budget") {
        let parsed: Result<spikelet::MemoryBudget, _> = budget.parse();
        step = step.memory_budget(parsed.map_err(|error| {
            invalid(
                "memory budget",
                error.to_string(),
                "give for example 400MiB",
            )
        })?);
    }
    if flag("outputs") {
        step = step.outputs(true);
    }
    Ok(step
        .batch_size(count("batch_size").unwrap_or(1))
        .accumulate(count("accumulate").unwrap_or(1))
        .carry_states(flag("carry_states"))
        .check_gradients(true)
        .clip(clip)
        .ema(number("ema"))
        .seed(definition["seed"].as_u64().unwrap_or(0)))
}
