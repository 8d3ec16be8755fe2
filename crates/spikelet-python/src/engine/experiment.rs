//! Experiments: data, network and settings of a run in a file.

use super::callbacks::Errors;
use super::data::PySplit;
use super::error::{invalid, raise};
use super::fit::{RunOptions, run};
use super::json::parse;
use super::model::PyModel;
use super::network::PyNetwork;
use pyo3::prelude::*;
use serde_json::Value;
use spikelet::data::DataOptions;
use spikelet::document::Document;
use spikelet::network::Network;
use spikelet::train::Settings;
use spikelet::train::experiment::Experiment;
use std::path::PathBuf;

/// An experiment.
#[pyclass(frozen, name = "Experiment", module = "spikelet._native")]
pub(super) struct PyExperiment {
    experiment: Experiment,
}

#[pymethods]
impl PyExperiment {
    /// Reads a TOML file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let experiment = Experiment::read(path).map_err(raise)?;
        Ok(Self { experiment })
    }

    /// The experiment of a TOML text; `file` is its name in messages.
    #[staticmethod]
    fn of_text(file: &str, text: &str) -> PyResult<Self> {
        let experiment = Experiment::from_toml(file, text).map_err(raise)?;
        Ok(Self { experiment })
    }

    /// The experiment of a network with its defaults.
    #[staticmethod]
    fn of_network(network: &PyNetwork) -> Self {
        Self {
            experiment: Experiment::of_network(network.network.clone()),
        }
    }

    /// The names of the tables.
    #[staticmethod]
    fn tables() -> Vec<&'static str> {
        Experiment::tables()
    }

    /// The experiment with changes, a JSON object of tables.
    #[pyo3(name = "with_")]
    fn with(&self, changes: &str) -> PyResult<Self> {
        let document = Document::from_json("set", &parse("set", changes)?).map_err(raise)?;
        let mut experiment = self.experiment.clone();
        experiment.change(&document).map_err(raise)?;
        Ok(Self { experiment })
    }

    /// All keys as TOML text.
    fn to_toml(&self) -> String {
        self.experiment.to_toml()
    }

    /// All keys as JSON text.
    fn to_json(&self) -> PyResult<String> {
        let document =
            Document::from_toml("experiment", &self.experiment.to_toml()).map_err(raise)?;
        Ok(document.root().to_json().to_string())
    }

    #[getter]
    fn network(&self) -> PyResult<PyNetwork> {
        PyNetwork::new(self.experiment.network.clone())
    }

    /// Device and threads.
    #[getter]
    fn device(&self) -> (String, usize) {
        let device = &self.experiment.device;
        (device.name.clone(), device.threads)
    }

    /// Epochs and batch size.
    #[getter]
    fn sizes(&self) -> (usize, usize) {
        let settings = &self.experiment.settings;
        (settings.epochs, settings.batch_size)
    }

    /// Reads the data set. The network has as many classes as these afterwards, unless it is a list of layers.
    fn load(&self, py: Python<'_>, folder: PathBuf, download: bool) -> PyResult<(PySplit, Self)> {
        let Experiment { data, network, .. } = &self.experiment;
        let name = match (data.dataset.as_deref(), network.image()) {
            (Some(name), _) => name,
            (None, [1, 28, 28]) => "synthetic",
            (None, [3, 32, 32]) => "cifar10",
            (None, image) => {
                return Err(invalid(
                    "data.dataset",
                    format!(
                        "none was named, and no data set is the default for inputs of {image:?}"
                    ),
                    "name one, such as `experiment.set(\"data.dataset\", \"shd\")`",
                ));
            }
        };
        let options = DataOptions {
            download,
            ..self.experiment.data_options(folder)
        };
        let split = PySplit::load(py, name, &options)?;
        let classes = split.classes();
        let mut experiment = self.experiment.clone();
        if classes > 0 && !matches!(experiment.network, Network::Layers(_)) {
            experiment.network = experiment.network.with_classes(classes);
        }
        Ok((split, Self { experiment }))
    }

    /// The settings as JSON text, with the normalization of the data.
    fn settings(&self, split: &PySplit) -> PyResult<String> {
        Ok(serde_json::json!(self.settings_for(split)?).to_string())
    }

    /// Trains a model of the network as the command line does. The report as JSON text.
    #[pyo3(signature = (model, split, options, on_step, on_epoch))]
    fn run(
        &self,
        py: Python<'_>,
        model: &PyModel,
        split: &PySplit,
        options: &str,
        on_step: Option<Py<PyAny>>,
        on_epoch: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let device = &self.experiment.device;
        if device.data_parallel > 1 || !device.pipeline.is_empty() {
            return Err(invalid(
                "device",
                "the experiment runs in several processes or as a pipeline",
                "run it with the command: `spikelet train FILE`",
            ));
        }
        let settings = self.settings_for(split)?;
        let mut options = RunOptions::of(&parse("options", options)?)?;
        options.of_experiment(&self.experiment);
        let data = split.loaders(&settings)?;
        let errors = Errors::default();
        let report = py.detach(|| run(model, settings, &data, options, on_step, on_epoch, &errors));
        match errors.take() {
            Some(error) => Err(error),
            None => report,
        }
    }
}

impl PyExperiment {
    fn settings_for(&self, split: &PySplit) -> PyResult<Settings> {
        let mut settings = self.experiment.settings.clone();
        settings.normalize = split.normalization(&settings.normalize)?.into();
        if settings.normalize.given().is_some() && settings.encoder.name() != "direct" {
            return Err(invalid(
                "data.normalize",
                format!(
                    "the encoder {} needs pixels from 0 to 1",
                    settings.encoder.name()
                ),
                "set encoder.name to \"direct\", or data.normalize to \"none\"",
            ));
        }
        Ok(settings)
    }
}

/// The keys of experiment files as a schema, JSON text.
#[pyfunction]
pub(super) fn experiment_schema() -> String {
    let schema: Value = Experiment::schema();
    schema.to_string()
}
