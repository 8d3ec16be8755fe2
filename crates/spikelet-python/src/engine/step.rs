//! Training steps with a loss of one's own.

use super::array::{Array, Values, from_tensor, is_finite};
use super::definition::defined;
use super::error::{invalid, raise};
use super::json::parse;
use super::settings::plan_json;
use pyo3::exceptions::PyFloatingPointError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spikelet::graph::Tensor;
use spikelet::graph::op::HostTensor;
use spikelet::runtime::VarStore;
use spikelet::train::{EvalStep, Step, StepMetrics, TrainStep};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The programs of a step on a device, and its tensors. Of each kind there is a program for each batch size that was used
/// lately, the last used last.
struct State {
    store: VarStore,
    train: Vec<TrainStep>,
    eval: Vec<EvalStep>,
    predict: Vec<EvalStep>,
    stream: Vec<EvalStep>,
}

/// The most programs of a kind.
const KEPT: usize = 4;

/// Makes the program for batches of `samples` the last; that of the size `own` is always kept.
fn use_size<P>(
    programs: &mut Vec<P>,
    [samples, own]: [usize; 2],
    size: fn(&P) -> usize,
    compile: impl FnOnce() -> spikelet::Result<P>,
) -> PyResult<()> {
    let found = programs.iter().position(|program| size(program) == samples);
    let program = match found {
        Some(at) => programs.remove(at),
        None => compile().map_err(raise)?,
    };
    if programs.len() >= KEPT {
        let oldest = programs.iter().position(|program| size(program) != own);
        programs.remove(oldest.unwrap_or(0));
    }
    programs.push(program);
    Ok(())
}

/// A compiled step.
#[pyclass(frozen, name = "TrainStep", module = "spikelet._native")]
pub(super) struct PyTrainStep {
    step: Step<'static>,
    batch_size: usize,
    state: Mutex<State>,
}

/// The program that was used last. There is always one.
fn last(programs: &[TrainStep]) -> &TrainStep {
    &programs[programs.len() - 1]
}

fn last_mut(programs: &mut [TrainStep]) -> &mut TrainStep {
    let at = programs.len() - 1;
    &mut programs[at]
}

/// Which program runs.
#[derive(Clone, Copy, PartialEq)]
enum Run {
    Evaluate,
    Predict,
    Stream,
}

fn values(inputs: &BTreeMap<String, Array>) -> PyResult<Vec<(&str, HostTensor<'_>)>> {
    let given = inputs.iter().map(|(name, array)| {
        let tensor = match &array.values {
            Values::F32(values) => HostTensor::F32(values),
            Values::I64(values) => HostTensor::I64(values),
            Values::U8(_) => return Err(invalid(name, "it has bytes", "give float32 or int64")),
        };
        Ok((name.as_str(), tensor))
    });
    given.collect()
}

/// Loss and metrics by name.
type Numbers = Vec<(String, f64)>;

fn numbers<'n>(names: impl Iterator<Item = &'n str>, found: &StepMetrics) -> Numbers {
    let metrics = names.map(|name| (name.to_string(), found.get(name).unwrap_or(f64::NAN)));
    [("loss".to_string(), found.loss)]
        .into_iter()
        .chain(metrics)
        .collect()
}

/// The exception for a loss or a gradient that is not finite.
fn not_finite(step: u64, inputs: &BTreeMap<String, Array>) -> PyErr {
    let bad = inputs.iter().filter(|(_, array)| !is_finite(array));
    let bad: Vec<String> = bad.map(|(name, _)| format!("`{name}`")).collect();
    let help = match bad.is_empty() {
        true => "lower the learning rate, or clip the gradients with `clip_norm`".to_string(),
        false => format!("{} has values that are not finite", bad.join(", ")),
    };
    PyFloatingPointError::new_err(format!(
        "step {step}: the loss or a gradient is not finite; no parameter was updated\n  help: {help}"
    ))
}

impl PyTrainStep {
    /// The state, locked without the interpreter's lock, as that of a model.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a program without training: loss and metrics of an evaluation.
    fn forward(
        &self,
        inputs: &BTreeMap<String, Array>,
        samples: usize,
        run: Run,
    ) -> PyResult<Numbers> {
        let values = values(inputs)?;
        let mut state = self.state();
        let State {
            store,
            eval,
            predict,
            stream,
            ..
        } = &mut *state;
        let programs = match run {
            Run::Evaluate => eval,
            Run::Predict => predict,
            Run::Stream => stream,
        };
        let sizes = [samples, self.batch_size];
        use_size(programs, sizes, EvalStep::batch_size, || {
            let step = self.step.clone().batch_size(samples);
            match run {
                Run::Evaluate => step.compile_eval(store),
                Run::Predict => step.compile_predict(store),
                Run::Stream => step.compile_stream(store),
            }
        })?;
        let Some(program) = programs.last_mut() else {
            return Ok(vec![]);
        };
        if run != Run::Evaluate {
            program.predict(values).map_err(raise)?;
            return Ok(vec![]);
        }
        let found = program.run(values).map_err(raise)?;
        Ok(numbers(program.metrics().names(), &found))
    }

    fn outputs<'py>(&self, py: Python<'py>, run: Run) -> PyResult<Bound<'py, PyDict>> {
        let tensors = py.detach(|| -> PyResult<Vec<(String, Tensor)>> {
            let state = self.state();
            let program = match run {
                Run::Evaluate => &state.eval,
                Run::Predict => &state.predict,
                Run::Stream => &state.stream,
            };
            let Some(program) = program.last() else {
                return Ok(vec![]);
            };
            let outputs = program
                .outputs()
                .map(|name| Ok((name.to_string(), program.output(name)?)));
            let values = program
                .activations()
                .map(|path| Ok((path.to_string(), program.activation(path)?)));
            outputs
                .chain(values)
                .collect::<spikelet::Result<_>>()
                .map_err(raise)
        })?;
        let dict = PyDict::new(py);
        for (name, tensor) in tensors {
            dict.set_item(name, from_tensor(py, tensor)?)?;
        }
        Ok(dict)
    }
}

#[pymethods]
impl PyTrainStep {
    /// Compiles the step of a function for a device. `definition` is JSON text.
    #[new]
    fn new(
        py: Python<'_>,
        function: Py<PyAny>,
        definition: &str,
        device: &str,
        threads: usize,
    ) -> PyResult<Self> {
        let definition = parse("step", definition)?;
        let step = defined(Arc::new(function), &definition)?;
        py.detach(|| {
            let backend = spikelet::device::find(device, threads).map_err(raise)?;
            let mut store = VarStore::new(backend);
            let train = step.compile(&mut store).map_err(raise)?;
            let batch_size = train.batch_size();
            let state = State {
                store,
                train: vec![train],
                eval: vec![],
                predict: vec![],
                stream: vec![],
            };
            Ok(Self {
                step,
                batch_size,
                state: Mutex::new(state),
            })
        })
    }

    /// Trains on a batch of `samples`; names and values of loss and metrics.
    fn run(&self, py: Python<'_>, inputs: &Bound<'_, PyDict>, samples: usize) -> PyResult<Numbers> {
        let inputs = arrays(inputs)?;
        let found = py.detach(|| -> PyResult<Numbers> {
            let values = values(&inputs)?;
            let mut state = self.state();
            let State { store, train, .. } = &mut *state;
            let sizes = [samples, self.batch_size];
            if last(train).batch_size() != samples {
                use_size(train, sizes, TrainStep::batch_size, || {
                    self.step.clone().batch_size(samples).compile(store)
                })?;
                if let [.., before, now] = &mut train[..] {
                    now.follow(before);
                }
            }
            let step = last_mut(train);
            let found = step.run(values).map_err(raise)?;
            match found.loss.is_finite() {
                true => Ok(numbers(step.metrics().names(), &found)),
                false => Err(not_finite(step.step(), &inputs)),
            }
        })?;
        py.check_signals()?;
        Ok(found)
    }

    /// Names and values of loss and metrics of a batch, and its outputs.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        samples: usize,
    ) -> PyResult<(Numbers, Bound<'py, PyDict>)> {
        let inputs = arrays(inputs)?;
        let found = py.detach(|| self.forward(&inputs, samples, Run::Evaluate))?;
        Ok((found, self.outputs(py, Run::Evaluate)?))
    }

    /// The outputs of a batch.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        samples: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inputs = arrays(inputs)?;
        py.detach(|| self.forward(&inputs, samples, Run::Predict))?;
        self.outputs(py, Run::Predict)
    }

    /// The outputs of a time step, whose states are carried to the next.
    fn stream<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        samples: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inputs = arrays(inputs)?;
        py.detach(|| self.forward(&inputs, samples, Run::Stream))?;
        self.outputs(py, Run::Stream)
    }

    /// Begins new sequences: resets the states that are carried.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut state = self.state();
            let State {
                store,
                train,
                eval,
                predict,
                stream,
            } = &mut *state;
            last_mut(train).reset(store).map_err(raise)?;
            for program in [eval, predict, stream].into_iter().flatten() {
                program.reset(store).map_err(raise)?;
            }
            Ok(())
        })
    }

    /// The number of updates.
    #[getter]
    fn step(&self, py: Python<'_>) -> u64 {
        py.detach(|| last(&self.state().train).step())
    }

    /// Multiplies the learning rates from the next update on.
    fn set_lr_factor(&self, py: Python<'_>, factor: f64) {
        py.detach(|| last_mut(&mut self.state().train).set_lr_factor(factor));
    }

    /// The names of the parameters, of those that are trained, and of buffers.
    fn names(&self, py: Python<'_>) -> (Vec<String>, Vec<String>, Vec<String>) {
        py.detach(|| {
            let state = self.state();
            let train = last(&state.train);
            (
                train.parameters().map(String::from).collect(),
                train.trained().map(String::from).collect(),
                train.buffers().map(String::from).collect(),
            )
        })
    }

    /// The tensors of the network by name.
    fn state_dict<'py>(&self, py: Python<'py>, averaged: bool) -> PyResult<Bound<'py, PyDict>> {
        let tensors = py.detach(|| -> spikelet::Result<Vec<(String, Tensor)>> {
            let state = self.state();
            let averages = averaged
                .then(|| last(&state.train).averaged(&state.store))
                .transpose()?;
            let store = averages.as_ref().unwrap_or(&state.store);
            let model = last(&state.train)
                .model()
                .map(|name| Ok((name.to_string(), store.get(name)?)));
            model.collect()
        });
        let dict = PyDict::new(py);
        for (name, tensor) in tensors.map_err(raise)? {
            dict.set_item(name, from_tensor(py, tensor)?)?;
        }
        Ok(dict)
    }

    /// Sets tensors of the network by name.
    fn load_state_dict(&self, py: Python<'_>, tensors: &Bound<'_, PyDict>) -> PyResult<()> {
        let tensors = arrays(tensors)?;
        py.detach(|| {
            let mut state = self.state();
            let known: Vec<String> = last(&state.train).model().map(String::from).collect();
            for (name, array) in tensors {
                if !known.contains(&name) {
                    return Err(invalid(
                        "weights",
                        format!("the step has no tensor `{name}`"),
                        format!("its tensors: {}", known.join(", ")),
                    ));
                }
                state
                    .store
                    .set(&name, &array.into_tensor())
                    .map_err(raise)?;
            }
            Ok(())
        })
    }

    /// The gradient of a parameter in the last update.
    fn gradient<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| last(&self.state().train).gradient(name).map_err(raise))?;
        from_tensor(py, found)
    }

    /// An output of the function in the last update.
    fn output<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| last(&self.state().train).output(name).map_err(raise))?;
        from_tensor(py, found)
    }

    /// Writes weights, tensors of the optimizer and the number of updates.
    fn save_state(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| {
            let state = self.state();
            last(&state.train)
                .save_state(&state.store, path)
                .map_err(raise)
        })
    }

    /// Continues from a file of `save_state`.
    fn resume(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| {
            let mut state = self.state();
            let State { store, train, .. } = &mut *state;
            last_mut(train).resume(store, path).map_err(raise)
        })
    }

    /// The plan: text, and sizes as JSON text.
    fn plan(&self, py: Python<'_>) -> (String, String) {
        py.detach(|| {
            let state = self.state();
            let plan = last(&state.train).plan();
            (plan.to_string(), plan_json(plan).to_string())
        })
    }
}

/// Arrays by name.
pub(super) fn arrays(dict: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, Array>> {
    let items = dict
        .iter()
        .map(|(name, array)| Ok((name.extract::<String>()?, Array::of(&array)?)));
    items.collect()
}
