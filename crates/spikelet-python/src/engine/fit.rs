//! Training of a network on samples.

use super::callbacks::Errors;
use super::data::PySplit;
use super::error::{invalid, raise, unknown};
use super::json::parse;
use super::model::PyModel;
use super::samples::PySamples;
use super::settings::settings_of;
use pyo3::prelude::*;
use serde_json::{Value, json};
use spikelet::graph::Tensor;
use spikelet::runtime::VarStore;
use spikelet::train::experiment::{Experiment, LayerMonitors};
use spikelet::train::{FitReport, Goal, Loaders, Settings, Trainer};
use spikelet::weights::belongs_to_training;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two calls of a function of Python after a step.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// The data of a run: three sets of samples, or the split of a data set.
#[derive(FromPyObject)]
pub(super) enum Given<'py> {
    Split(PyRef<'py, PySplit>),
    #[allow(clippy::type_complexity, reason = "a tuple of Python")]
    Samples(
        (
            PyRef<'py, PySamples>,
            Option<PyRef<'py, PySamples>>,
            Option<PyRef<'py, PySamples>>,
        ),
    ),
}

impl Given<'_> {
    fn loaders(&self, settings: &Settings) -> PyResult<Loaders> {
        match self {
            Self::Split(split) => split.loaders(settings),
            Self::Samples((train, validation, test)) => {
                let evaluated = |samples: &Option<PyRef<'_, PySamples>>| {
                    let loader = |own: &PyRef<'_, PySamples>| own.loader(settings.test_batches(1));
                    samples.as_ref().map(loader).transpose()
                };
                Ok(Loaders {
                    train: train.loader(settings.training_batches())?,
                    validation: evaluated(validation)?,
                    test: evaluated(test)?,
                })
            }
        }
    }
}

/// The options of a run that are no settings of training, from JSON.
#[derive(Debug, Default)]
pub(super) struct RunOptions {
    folder: Option<String>,
    /// A folder in which the run gets a new one.
    new_folder_in: Option<String>,
    force: bool,
    resume: bool,
    init_from: Option<String>,
    patience: Option<usize>,
    monitor: Option<(String, Goal)>,
    layers: Vec<LayerMonitors>,
    loader_threads: usize,
    restore_best: bool,
    experiment: Option<Experiment>,
}

impl RunOptions {
    /// Takes what an experiment says.
    pub fn of_experiment(&mut self, experiment: &Experiment) {
        self.layers
            .extend(experiment.output.monitor.iter().cloned());
        self.loader_threads = experiment
            .data
            .loader_threads
            .unwrap_or(self.loader_threads);
        if let Some(file) = &experiment.init_from {
            self.init_from = Some(file.display().to_string());
        }
        self.experiment = Some(experiment.clone());
    }

    /// Whether the run continues one in its folder.
    pub fn resumes(&self) -> bool {
        self.resume
    }

    pub fn of(value: &Value) -> PyResult<Self> {
        let text = |key: &str| value[key].as_str().map(String::from);
        let monitor = text("monitor").map(|name| {
            let goal = match value["goal"].as_str() {
                Some("minimize") => Goal::Minimize,
                _ => Goal::Maximize,
            };
            (name, goal)
        });
        let mut layers = vec![];
        for text in value["monitor_layers"].as_array().into_iter().flatten() {
            let text = text.as_str().unwrap_or_default();
            let parsed = text.parse::<LayerMonitors>();
            layers.push(parsed.map_err(|error| unknown("monitor_layers", &error))?);
        }
        Ok(Self {
            folder: text("folder"),
            new_folder_in: text("new_folder_in"),
            force: value["force"] == true,
            resume: value["resume"] == true,
            init_from: None,
            patience: value["patience"].as_u64().map(|patience| patience as usize),
            monitor,
            layers,
            loader_threads: value["loader_threads"].as_u64().unwrap_or(0) as usize,
            restore_best: value["restore_best"] == true,
            experiment: None,
        })
    }
}

/// The weights that a run leaves in a model.
#[derive(Clone, Default)]
pub(super) struct Trained(Arc<Mutex<BTreeMap<String, Tensor>>>);

impl Trained {
    /// A function that copies the tensors of these names; those of the network without names.
    pub fn copy(
        &self,
        names: Vec<String>,
    ) -> impl Fn(&VarStore) -> spikelet::Result<()> + Send + Sync + 'static {
        let target = self.0.clone();
        move |store| {
            let all: Vec<String> = (store.names().filter(|name| !belongs_to_training(name)))
                .map(String::from)
                .collect();
            let names = if names.is_empty() { &all } else { &names };
            let copied = names
                .iter()
                .map(|name| Ok((name.clone(), store.get(name)?)));
            let copied: BTreeMap<String, Tensor> = copied.collect::<spikelet::Result<_>>()?;
            *target.lock().unwrap_or_else(PoisonError::into_inner) = copied;
            Ok(())
        }
    }

    pub fn take(&self) -> BTreeMap<String, Tensor> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The report of a run as JSON.
pub(super) fn report_json(report: &FitReport) -> Value {
    let path =
        |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    json!({
        "history": report.history,
        "best": report.best(),
        "epochs_trained": report.epochs_trained,
        "seconds": report.seconds,
        "samples_per_second": report.samples_per_second,
        "peak_bytes": report.peak_bytes,
        "interrupted": report.interrupted,
        "stopped_early": report.stopped_early,
        "folder": path(&report.folder),
        "checkpoint": path(&report.checkpoint),
        "report": path(&report.report),
        "findings": report.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Trains the network of a model, whose weights are those of the result then. Returns the report as JSON text. The functions
/// are called with JSON texts; a run ends if `on_epoch` returns a true value.
#[pyfunction]
#[pyo3(signature = (model, settings, data, options, on_step, on_epoch))]
pub(super) fn fit(
    py: Python<'_>,
    model: &PyModel,
    settings: &str,
    data: Given<'_>,
    options: &str,
    on_step: Option<Py<PyAny>>,
    on_epoch: Option<Py<PyAny>>,
) -> PyResult<String> {
    let settings = settings_of(settings)?;
    let options = RunOptions::of(&parse("options", options)?)?;
    let data = data.loaders(&settings)?;
    let errors = Errors::default();
    let report = py.detach(|| run(model, settings, &data, options, on_step, on_epoch, &errors));
    // An error of Python, such as KeyboardInterrupt, ended the run.
    match errors.take() {
        Some(error) => Err(error),
        None => Ok(report?),
    }
}

/// A trainer with the options and the functions of a run.
pub(super) fn configured<'a>(
    mut trainer: Trainer<'a>,
    options: RunOptions,
    errors: &Errors,
    on_step: Option<Py<PyAny>>,
    on_epoch: Option<Py<PyAny>>,
) -> PyResult<Trainer<'a>> {
    trainer = trainer
        .loader_threads(options.loader_threads)
        .end_when(errors.end_request());
    trainer = match (options.folder, options.resume) {
        (Some(folder), true) => trainer.resume_from(folder),
        (Some(folder), false) => trainer.folder(folder).force(options.force),
        (None, false) => match options.new_folder_in {
            Some(parent) => trainer.new_folder_in(parent),
            None => trainer,
        },
        (None, true) => {
            return Err(invalid(
                "resume",
                "there is no folder",
                "give the folder of the run",
            ));
        }
    };
    if let Some(experiment) = &options.experiment {
        let seconds = experiment.output.checkpoint_seconds.min(1e9);
        trainer = trainer
            .experiment(experiment)
            .curve_steps(experiment.output.curve_steps as u64)
            .checkpoint_every(Duration::from_secs_f64(seconds));
    }
    if let Some(file) = options.init_from {
        trainer = trainer.init_from(file);
    }
    if let Some((name, goal)) = options.monitor {
        trainer = trainer.monitor(name, goal);
    }
    if let Some(patience) = options.patience {
        trainer = trainer.early_stopping(patience);
    }
    for LayerMonitors { monitors, pattern } in options.layers {
        for monitor in monitors {
            trainer = trainer.monitor_layers(monitor, &pattern);
        }
    }
    if let Some(function) = on_step {
        let errors = errors.clone();
        let shown = Mutex::new(None::<Instant>);
        trainer = trainer.on_step(move |step, found| {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            if shown.is_some_and(|shown| shown.elapsed() < SHOWN_EVERY) {
                return;
            }
            *shown = Some(Instant::now());
            let event = json!({"step": step, "loss": found.loss});
            errors.call(&function, event.to_string());
        });
    }
    if let Some(function) = on_epoch {
        let errors = errors.clone();
        trainer = trainer.on_epoch(move |record| {
            match errors.call(&function, json!(record).to_string()) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
    }
    Ok(trainer)
}

/// Trains the network of a model; the report as JSON text.
pub(super) fn run(
    model: &PyModel,
    settings: Settings,
    data: &Loaders,
    options: RunOptions,
    on_step: Option<Py<PyAny>>,
    on_epoch: Option<Py<PyAny>>,
    errors: &Errors,
) -> PyResult<String> {
    model.prepare(settings.time_steps)?;
    let names: Vec<String> = model.tensors()?.into_keys().collect();
    let (backend, fresh) = {
        let state = model.state();
        (state.store.backend().clone(), state.fresh)
    };
    let mut trainer = Trainer::network(&model.network, settings).map_err(raise)?;
    trainer = trainer.backend(backend);
    let (resumes, restores) = (options.resume, options.restore_best);
    trainer = configured(trainer, options, errors, on_step, on_epoch)?;
    if !fresh && !resumes {
        let start = model.tensors()?;
        trainer = trainer.before_epoch(move |epoch, store| {
            if epoch > 0 {
                return Ok(());
            }
            for (name, tensor) in &start {
                store.set(name, tensor)?;
                // Averages start from the same values.
                let average = format!("ema.{name}");
                if store.ty(&average).is_some() {
                    store.set(&average, tensor)?;
                }
            }
            Ok(())
        });
    }
    let (last, best) = (Trained::default(), Trained::default());
    trainer = trainer.on_end(last.copy(names.clone()));
    if restores {
        trainer = trainer.on_improvement(best.copy(names));
    }
    let report = trainer.fit(data).map_err(raise)?;
    let (last, best) = (last.take(), best.take());
    let trained = if best.is_empty() { last } else { best };
    if !trained.is_empty() {
        model.set_tensors(trained.iter().map(|(name, tensor)| (name.as_str(), tensor)))?;
    }
    Ok(report_json(&report).to_string())
}
