//! Training of a step on arrays, with the trainer's checkpoints, schedules and evaluations.

use super::array::{Array, Values, from_tensor};
use super::callbacks::Errors;
use super::definition::defined;
use super::error::{invalid, raise};
use super::fit::{RunOptions, Trained, configured, report_json};
use super::json::parse;
use super::step::arrays;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use spikelet::data::{Column, DType, DataLoader, Field, InMemory, LoaderConfig};
use spikelet::document::Document;
use spikelet::network::Network;
use spikelet::train::experiment::Experiment;
use spikelet::train::{Loaders, Settings, Trainer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The samples of arrays `[N, …]` by the names of inputs.
fn samples(inputs: &[Value], given: &Bound<'_, PyDict>) -> PyResult<Arc<InMemory>> {
    let mut given: BTreeMap<String, Array> = arrays(given)?;
    let mut made = InMemory::new("arrays");
    for input in inputs {
        let name = input["name"].as_str().unwrap_or_default();
        let array = given.remove(name).ok_or_else(|| {
            invalid(
                name,
                "the samples do not have it",
                "give an array for each input of the step",
            )
        })?;
        let Some((_, shape)) = array.shape.split_first() else {
            return Err(invalid(name, "it is a number", "give an array [N, …]"));
        };
        let shape = shape.to_vec();
        let (element, column) = match array.values {
            Values::F32(values) => (DType::F32, Column::F32(values)),
            Values::I64(values) => (DType::I64, Column::I64(values)),
            Values::U8(_) => return Err(invalid(name, "it has bytes", "give float32 or int64")),
        };
        let field = Field::new(name, element, shape);
        let field = if input["kind"] == "sequence" {
            field.sequence()
        } else {
            field
        };
        made = made.with(field, column).map_err(raise)?;
    }
    Ok(Arc::new(made))
}

/// The settings of a run with these tables of an experiment.
fn settings_with(tables: &Value) -> PyResult<Settings> {
    let network = Network::find("mnist-fc").map_err(raise)?;
    let mut experiment = Experiment::new(network, Settings::default());
    let document = Document::from_json("fit", tables).map_err(raise)?;
    experiment.change_settings(&document).map_err(raise)?;
    Ok(experiment.settings)
}

/// A table without keys that are not given.
fn without_null(mut table: Value) -> Value {
    if let Some(keys) = table.as_object_mut() {
        keys.retain(|_, value| !value.is_null());
    }
    table
}

/// Training, validation and test samples, as arrays by name.
type Given<'py> = (
    Bound<'py, PyDict>,
    Option<Bound<'py, PyDict>>,
    Option<Bound<'py, PyDict>>,
);

/// Trains the step of a function: the report as JSON text, and the tensors of its networks. `start` returns the weights from
/// which it starts, by name, when the step has been traced.
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of Python, by name there"
)]
pub(super) fn fit_step<'py>(
    py: Python<'py>,
    function: Py<PyAny>,
    definition: &str,
    data: Given<'py>,
    options: &str,
    device: (String, usize),
    start: Py<PyAny>,
    on_step: Option<Py<PyAny>>,
    on_epoch: Option<Py<PyAny>>,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let definition = parse("step", definition)?;
    let inputs = definition["inputs"].as_array().cloned().unwrap_or_default();
    let options = parse("options", options)?;
    let training = json!({
        "epochs": options["epochs"].as_u64().unwrap_or(20),
        "batch_size": definition["batch_size"].as_u64().unwrap_or(1),
        "seed": definition["seed"].as_u64().unwrap_or(0),
        "delay_width": options["delay_width"],
    });
    let settings = settings_with(&json!({
        "training": without_null(training), "schedule": options["schedule"],
    }))?;
    let loader = |given: &Bound<'py, PyDict>, config: LoaderConfig| {
        DataLoader::new(samples(&inputs, given)?, config).map_err(raise)
    };
    let evaluated = |given: &Option<Bound<'py, PyDict>>| {
        let loader = |given| loader(given, settings.test_batches(1));
        given.as_ref().map(loader).transpose()
    };
    let (train, validation, test) = &data;
    let loaders = Loaders {
        train: loader(train, settings.training_batches())?,
        validation: evaluated(validation)?,
        test: evaluated(test)?,
    };
    let step = defined(Arc::new(function), &definition)?;
    let run_options = RunOptions::of(&options)?;
    let (errors, last) = (Errors::default(), Trained::default());
    let report = py.detach(|| -> PyResult<String> {
        let backend = spikelet::device::find(&device.0, device.1).map_err(raise)?;
        let resumes = run_options.resumes();
        let trainer = Trainer::over(step, settings).backend(backend);
        let trainer = configured(trainer, run_options, &errors, on_step, on_epoch)?
            .on_end(last.copy(vec![]))
            .before_epoch(move |epoch, store| {
                if epoch > 0 || resumes {
                    return Ok(());
                }
                let weights = Python::attach(|py| -> PyResult<BTreeMap<String, Array>> {
                    arrays(start.call0(py)?.bind(py).cast::<PyDict>()?)
                });
                for (name, array) in weights.map_err(spikelet::Error::other)? {
                    store.set(&name, &array.into_tensor())?;
                }
                Ok(())
            });
        Ok(report_json(&trainer.fit(&loaders).map_err(raise)?).to_string())
    });
    let dict = PyDict::new(py);
    for (name, tensor) in last.take() {
        dict.set_item(name, from_tensor(py, tensor)?)?;
    }
    match errors.take() {
        Some(error) => Err(error),
        None => Ok((report?, dict)),
    }
}
