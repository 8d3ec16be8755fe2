//! A network with its weights on a device, and the programs that run it.

use super::array::{Array, from_tensor};
use super::concat::concat;
use super::error::{invalid, raise};
use super::network::PyNetwork;
use super::samples::PySamples;
use super::settings::{plan_json, settings_of};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spikelet::graph::{DType, Data, Tensor};
use spikelet::module::{Context, Mode, Module, Traced, TracedTensor};
use spikelet::network::Network;
use spikelet::nir::NirError;
use spikelet::runtime::VarStore;
use spikelet::train::checkpoint::{DatasetId, Progress, RunDefinition};
use spikelet::train::run::checkpoint_file;
use spikelet::train::step::SampleBatch;
use spikelet::train::{Checkpoint, EvalStep, Outputs, SampleShape, Step};
use spikelet::weights::{Weights, of_the_model, tensor_of};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard};

/// The number of compiled programs that a model keeps.
const KEPT: usize = 6;

/// What a program was compiled for.
#[derive(Clone, Debug, PartialEq)]
struct ProgramKey {
    settings: String,
    shape: Vec<usize>,
    values: Vec<String>,
}

/// The weights, and what was compiled for them.
pub(super) struct State {
    pub store: VarStore,
    /// The device's name as given.
    pub device: String,
    /// Whether the weights are still those of the initialization.
    pub fresh: bool,
    seed: u64,
    /// The numbers of time steps for which the weights have the right shapes.
    steps: Vec<usize>,
    programs: Vec<(ProgramKey, EvalStep)>,
}

/// A network with its weights.
#[pyclass(frozen, name = "Model", module = "spikelet._native")]
pub(super) struct PyModel {
    pub network: Network,
    pub module: Arc<dyn Module>,
    /// Names of parameters and buffers.
    names: Vec<String>,
    parameters: usize,
    state: Mutex<State>,
}

/// The time steps for which weights are made at first.
const FIRST_STEPS: usize = 2;

/// The tensors of a network for sequences of so many time steps.
fn trace(network: &Network, module: &dyn Module, time_steps: usize) -> PyResult<Traced> {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let input = [&[time_steps, 1], &network.input()[..]].concat();
    let x = cx.tracer().input("x_seq", DType::F32, input);
    cx.trace(module, x).map_err(raise)?;
    Ok(cx.traced())
}

impl PyModel {
    /// The state, for one thread at a time. It is locked without the interpreter's lock, which a thread that has the state
    /// may need for an error or a function of Python.
    pub fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole after a panic: it is changed by complete assignments only.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Prepares the weights for sequences of so many time steps: some neurons have weights for each of them. Weights that
    /// were not set get other initial values; others stay, and a program that does not fit them is an error.
    pub fn prepare(&self, time_steps: usize) -> PyResult<()> {
        let mut state = self.state();
        if state.steps.contains(&time_steps) {
            return Ok(());
        }
        let traced = trace(&self.network, &*self.module, time_steps)?;
        let all = traced.parameters.iter().chain(&traced.buffers);
        let differs = |tensor: &TracedTensor| {
            let own = state.store.ty(&tensor.name);
            own.is_none_or(|own| own.shape != tensor.shape)
        };
        if all.clone().any(differs) {
            if !state.fresh {
                return Ok(());
            }
            let mut store = VarStore::new(state.store.backend().clone());
            store
                .initialize(&traced, DType::F32, state.seed)
                .map_err(raise)?;
            state.programs.clear();
            state.steps.clear();
            state.store = store;
        }
        state.steps.push(time_steps);
        Ok(())
    }

    /// Sets tensors by name; all must be those of the network.
    pub fn set_tensors<'t>(
        &self,
        tensors: impl IntoIterator<Item = (&'t str, &'t Tensor)>,
    ) -> PyResult<()> {
        let tensors: BTreeMap<&str, &Tensor> = tensors.into_iter().collect();
        let mut state = self.state();
        let missing: Vec<&String> = (self.names.iter())
            .filter(|name| !tensors.contains_key(name.as_str()))
            .collect();
        let known = |name: &str| self.names.iter().any(|own| own == name);
        let unknown: Vec<&str> = tensors
            .keys()
            .copied()
            .filter(|name| !known(name))
            .collect();
        let wrong: Vec<String> = (tensors.iter())
            .filter_map(|(name, tensor)| {
                let own = state.store.ty(name)?;
                (own.shape != tensor.shape)
                    .then(|| format!("{name}: {:?}, expected {:?}", tensor.shape, own.shape))
            })
            .collect();
        let mut problems = vec![];
        if !missing.is_empty() {
            problems.push(format!(
                "missing: {}",
                joined(missing.iter().map(|n| n.as_str()))
            ));
        }
        if !unknown.is_empty() {
            problems.push(format!("unknown: {}", joined(unknown.into_iter())));
        }
        if !wrong.is_empty() {
            problems.push(format!(
                "other shapes: {}",
                joined(wrong.iter().map(|w| w.as_str()))
            ));
        }
        if !problems.is_empty() {
            return Err(invalid(
                "weights",
                format!(
                    "they are not those of the network `{}`: {}",
                    self.network.name(),
                    problems.join("; ")
                ),
                "compare with `state_dict()`; `spikelet.weights` converts the names of other frameworks",
            ));
        }
        for (name, tensor) in tensors {
            let own = state.store.ty(name).map(|ty| ty.dtype);
            let cast = match (&tensor.data, own) {
                (Data::F32(_), Some(DType::F32)) | (_, None) => None,
                (_, Some(DType::F32)) => Some(Tensor {
                    shape: tensor.shape.clone(),
                    data: Data::F32(tensor.to_f64().into_iter().map(|v| v as f32).collect()),
                }),
                _ => None,
            };
            state
                .store
                .set(name, cast.as_ref().unwrap_or(tensor))
                .map_err(raise)?;
        }
        state.fresh = false;
        Ok(())
    }

    /// All tensors by name.
    pub fn tensors(&self) -> PyResult<BTreeMap<String, Tensor>> {
        let state = self.state();
        let all = self.names.iter().map(|name| {
            let tensor = state.store.get(name).map_err(raise)?;
            Ok((name.clone(), tensor))
        });
        all.collect()
    }
}

/// The first names of a list.
fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        ..=6 => names.join(", "),
        all => format!("{}, … ({all})", names[..5].join(", ")),
    }
}

#[pymethods]
impl PyModel {
    /// The network on a device, with initial weights of a seed.
    #[new]
    #[pyo3(signature = (network, device, threads, seed))]
    fn new(
        py: Python<'_>,
        network: &PyNetwork,
        device: &str,
        threads: usize,
        seed: u64,
    ) -> PyResult<Self> {
        let network = network.network.clone();
        let (model, warnings) = py.detach(|| {
            let module = network.module().map_err(raise)?;
            let backend = spikelet::device::find(device, threads).map_err(raise)?;
            let mut store = VarStore::new(backend);
            let traced = trace(&network, &*module, FIRST_STEPS)?;
            store.initialize(&traced, DType::F32, seed).map_err(raise)?;
            let name = |tensor: &TracedTensor| tensor.name.clone();
            let mut names: Vec<String> = traced.parameters.iter().map(name).collect();
            let parameters = names.len();
            names.extend(traced.buffers.iter().map(name));
            let state = State {
                store,
                device: device.to_string(),
                fresh: true,
                seed,
                steps: vec![FIRST_STEPS],
                programs: vec![],
            };
            let model = Self {
                network,
                module,
                names,
                parameters,
                state: Mutex::new(state),
            };
            Ok::<_, PyErr>((model, traced.warnings))
        })?;
        for warning in warnings {
            let text = CString::new(warning)?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
        }
        Ok(model)
    }

    /// The device's name.
    #[getter]
    fn device(&self, py: Python<'_>) -> String {
        py.detach(|| self.state().store.backend().name())
    }

    /// Whether the weights are still those of the initialization.
    #[getter]
    fn is_initial(&self, py: Python<'_>) -> bool {
        py.detach(|| self.state().fresh)
    }

    /// The number of time steps for which the weights were prepared last.
    #[getter]
    fn time_steps(&self, py: Python<'_>) -> usize {
        py.detach(|| self.state().steps.last().copied().unwrap_or(FIRST_STEPS))
    }

    /// Prepares the weights for sequences of so many time steps.
    #[pyo3(name = "prepare")]
    fn prepare_for(&self, py: Python<'_>, time_steps: usize) -> PyResult<()> {
        py.detach(|| self.prepare(time_steps))
    }

    /// The names of the parameters.
    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.names[..self.parameters].to_vec()
    }

    /// The names of tensors that are not trained, such as running statistics.
    #[getter]
    fn buffers(&self) -> Vec<String> {
        self.names[self.parameters..].to_vec()
    }

    /// The tensors by name, as arrays.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tensors = py.detach(|| self.tensors())?;
        let dict = PyDict::new(py);
        for name in &self.names {
            if let Some(tensor) = tensors.get(name) {
                dict.set_item(name, from_tensor(py, tensor.clone())?)?;
            }
        }
        Ok(dict)
    }

    /// Sets all tensors from arrays.
    fn load_state_dict(&self, py: Python<'_>, tensors: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut given = BTreeMap::new();
        for (name, array) in tensors {
            given.insert(name.extract::<String>()?, Array::of(&array)?.into_tensor());
        }
        py.detach(|| self.set_tensors(given.iter().map(|(name, tensor)| (name.as_str(), tensor))))
    }

    /// Writes a checkpoint of the network, its settings and its weights.
    fn save(&self, py: Python<'_>, path: &str, settings: &str, folder: bool) -> PyResult<()> {
        let settings = settings_of(settings)?;
        let samples = settings.batch_size;
        let definition = RunDefinition::of_classifier(Some(self.network.clone()), settings);
        let progress = Progress {
            ranks: 1,
            ..Progress::default()
        };
        let dataset = DatasetId {
            name: "arrays".to_string(),
            train_samples: samples,
            validation_samples: 0,
            test_samples: 0,
            sha256: "0".repeat(64),
            classes: vec![],
            folder: None,
        };
        py.detach(|| {
            let state = self.state();
            let names = self.names.iter().cloned();
            let taken = Checkpoint::take(&state.store, names, &definition, &progress, &dataset);
            let written = taken.and_then(|taken| match folder {
                true => taken.write_model(path),
                false => taken.write(path),
            });
            written.map_err(raise)
        })
    }

    /// Sets all tensors from a file; those that only training needs are left out.
    fn load(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| {
            let path = checkpoint_file(path).map_err(raise)?;
            let weights = Weights::read(&path).map_err(|error| raise(NirError::from(error)))?;
            let weights = of_the_model(&weights).map_err(raise)?;
            let tensors: BTreeMap<&str, Tensor> = weights
                .iter()
                .map(|(name, own)| (name, tensor_of(own)))
                .collect();
            self.set_tensors(tensors.iter().map(|(name, tensor)| (*name, tensor)))
        })
    }

    /// Moves the weights to a device.
    fn to(&self, py: Python<'_>, device: &str, threads: usize) -> PyResult<()> {
        py.detach(|| {
            let backend = spikelet::device::find(device, threads).map_err(raise)?;
            let mut state = self.state();
            let store = state.store.gathered(&backend).map_err(raise)?;
            state.programs.clear();
            state.store = store;
            state.device = device.to_string();
            Ok(())
        })
    }

    /// The scores of samples, `[N, classes]`, and the recorded values of layers by path, `[T, N, …]`.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        samples: &PySamples,
        settings: &str,
        batch: usize,
        values: Vec<String>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let shape = samples.shape()?;
        let parsed = settings_of(settings)?;
        let (scores, recorded) = py.detach(|| -> PyResult<_> {
            self.prepare(parsed.time_steps)?;
            let loader = samples.loader(parsed.test_batches(batch))?;
            let mut scores: Vec<Tensor> = vec![];
            let mut recorded: BTreeMap<String, Vec<Tensor>> = BTreeMap::new();
            for given in loader.epoch(0, 0) {
                let given = given.map_err(raise)?;
                Python::attach(|py| py.check_signals())?;
                let key = ProgramKey {
                    settings: settings.to_string(),
                    shape: [&[given.len()], &sizes(shape)[..]].concat(),
                    values: values.clone(),
                };
                let mut state = self.state();
                let step = state.program(key, |store| {
                    let shape = SampleBatch {
                        batch: given.len(),
                        sample: shape,
                    };
                    let step = Step::classifier_eval(&*self.module, &parsed, shape)?;
                    let step = values
                        .iter()
                        .fold(step, |step, value| step.read_activations(value));
                    step.outputs(true).compile_eval(store)
                })?;
                step.run_batch(&given).map_err(raise)?;
                scores.push(step.output("scores").map_err(raise)?);
                let paths: Vec<String> = step.activations().map(String::from).collect();
                for path in paths {
                    let value = step.activation(&path).map_err(raise)?;
                    recorded.entry(path).or_default().push(value);
                }
            }
            let scores = concat(scores, 0)?;
            let recorded = recorded
                .into_iter()
                .map(|(path, parts)| Ok((path, concat(parts, 1)?)));
            Ok((scores, recorded.collect::<PyResult<Vec<_>>>()?))
        })?;
        let dict = PyDict::new(py);
        for (path, tensor) in recorded {
            dict.set_item(path, from_tensor(py, tensor)?)?;
        }
        Ok((from_tensor(py, scores)?, dict))
    }

    /// Names and values of loss and metrics of samples with labels, and the number of samples.
    fn evaluate(
        &self,
        py: Python<'_>,
        samples: &PySamples,
        settings: &str,
    ) -> PyResult<(Vec<(String, f64)>, usize)> {
        let shape = samples.shape()?;
        let parsed = settings_of(settings)?;
        let loader = samples.loader(parsed.test_batches(1))?;
        py.detach(|| {
            self.prepare(parsed.time_steps)?;
            let batch = SampleBatch {
                batch: parsed.batch_size,
                sample: shape,
            };
            let step = Step::classifier_eval(&*self.module, &parsed, batch).map_err(raise)?;
            let mut state = self.state();
            // The evaluation shares the arena of the programs that are kept.
            state.programs.clear();
            let found = step.evaluate(&loader, &mut state.store).map_err(raise)?;
            let metrics = found.iter().map(|(name, value)| (name.to_string(), value));
            let values = [("loss".to_string(), found.loss())].into_iter();
            Ok((values.chain(metrics).collect(), found.samples()))
        })
    }

    /// The output of the network for a sequence `[T, N, …]`.
    fn run<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let x = Array::of(x)?.into_tensor();
        let [steps, batch, ..] = x.shape[..] else {
            return Err(invalid(
                "x",
                format!("it has the shape {:?}", x.shape),
                "give a sequence [T, N, …]",
            ));
        };
        let Data::F32(values) = &x.data else {
            return Err(invalid("x", "it has integers", "give float32"));
        };
        let output = py.detach(|| -> PyResult<Tensor> {
            self.prepare(steps)?;
            let key = ProgramKey {
                settings: String::new(),
                shape: x.shape.clone(),
                values: vec![],
            };
            let mut state = self.state();
            let step = state.program(key, |store| {
                let module = &*self.module;
                let sizes = [&[steps], &x.shape[2..]].concat();
                let step = Step::new(move |cx: &Context, inputs: &spikelet::train::Inputs| {
                    let y = module.forward(cx, inputs.get("x")?)?;
                    Ok(Outputs::loss(y.mean_all()).output("y", &y))
                });
                let step = step.batch_size(batch).sequence("x", DType::F32, sizes);
                step.compile_predict(store)
            })?;
            step.predict([("x", values)]).map_err(raise)?;
            step.output("y").map_err(raise)
        })?;
        from_tensor(py, output)
    }

    /// The plan of a training step, or of an evaluation: text, and sizes as JSON text.
    fn plan(
        &self,
        py: Python<'_>,
        samples: (Vec<usize>, Option<usize>),
        settings: &str,
        training: bool,
    ) -> PyResult<(String, String)> {
        let parsed = settings_of(settings)?;
        let (input, steps) = samples;
        let step_shape = || spikelet::data::StepShape::of(&input);
        let wrong = || invalid("input", format!("{input:?}"), "give one or three sizes");
        let shape = match steps {
            None => SampleShape::Image(input.clone().try_into().map_err(|_| wrong())?),
            Some(steps) => SampleShape::Sequence {
                steps,
                shape: step_shape().ok_or_else(wrong)?,
                step_labels: None,
                varies: false,
                device_frames: None,
            },
        };
        py.detach(|| {
            let batch = SampleBatch {
                batch: parsed.batch_size,
                sample: shape,
            };
            let backend = self.state().store.backend().clone();
            let module = &*self.module;
            let plan = match training {
                true => {
                    let step = Step::classifier(module, &parsed, batch).map_err(raise)?;
                    let planned = step.plan(&*backend).map_err(raise)?;
                    (planned.plan().to_string(), plan_json(planned.plan()))
                }
                false => {
                    let step = Step::classifier_eval(module, &parsed, batch).map_err(raise)?;
                    let planned = step.plan_eval(&*backend).map_err(raise)?;
                    (planned.plan().to_string(), plan_json(planned.plan()))
                }
            };
            Ok((plan.0, plan.1.to_string()))
        })
    }
}

impl State {
    /// The program for this key, compiled if it is new.
    fn program(
        &mut self,
        key: ProgramKey,
        compile: impl FnOnce(&mut VarStore) -> spikelet::Result<EvalStep>,
    ) -> PyResult<&mut EvalStep> {
        let at = match self.programs.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None => {
                let made = compile(&mut self.store).map_err(raise)?;
                if self.programs.len() >= KEPT {
                    self.programs.remove(0);
                }
                self.programs.push((key, made));
                self.programs.len() - 1
            }
        };
        Ok(&mut self.programs[at].1)
    }
}

/// The sizes of a sample, as part of a key.
fn sizes(shape: SampleShape) -> Vec<usize> {
    match shape {
        SampleShape::Image(image) => image.to_vec(),
        SampleShape::Sequence { steps, shape, .. } => [&[steps], shape.sizes()].concat(),
        _ => vec![],
    }
}
