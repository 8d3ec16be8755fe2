//! Data sets by name.

use super::error::{invalid, raise};
use super::json::parse;
use super::samples::PySamples;
use pyo3::prelude::*;
use spikelet::data::{DataOptions, FrameSettings, Normalize, Split, find};
use spikelet::train::loaders::TrainingData;
use spikelet::train::{Loaders, Normalization, Settings};
use std::path::PathBuf;

/// The training, validation and test samples of a data set.
#[pyclass(frozen, name = "Split", module = "spikelet._native")]
pub(super) struct PySplit {
    split: Split,
}

impl PySplit {
    /// Reads the data set of this name.
    pub fn load(py: Python<'_>, name: &str, options: &DataOptions) -> PyResult<Self> {
        let dataset = find(name).map_err(raise)?;
        let split = py.detach(|| dataset.load(options)).map_err(raise)?;
        Ok(Self { split })
    }

    /// The number of classes; 0 if the data set does not tell.
    pub fn classes(&self) -> usize {
        self.split.class_names().len()
    }

    /// The normalization of pixels that an experiment asks for.
    pub fn normalization(&self, wanted: &Normalization) -> PyResult<Option<Normalize>> {
        match self.split.has_images() || *wanted == Normalization::None {
            true => wanted.of(&self.split).map_err(raise),
            false => Err(invalid(
                "data.normalize",
                "the data set has sequences, and pixels are normalized",
                "leave it out; a layer of the network can normalize its input",
            )),
        }
    }

    /// The loaders of a run with these settings.
    pub fn loaders(&self, settings: &Settings) -> PyResult<Loaders> {
        self.split.loaders(settings).map_err(raise)
    }
}

#[pymethods]
impl PySplit {
    /// The samples `train`, `validation` or `test`; None if the data set does not have this part.
    fn part(&self, name: &str) -> PyResult<Option<PySamples>> {
        let split = &self.split;
        let part = match name {
            "train" => Some(&split.train),
            "validation" => split.validation.as_ref(),
            "test" => Some(&split.test),
            _ => {
                return Err(invalid(
                    "part",
                    format!("`{name}` is unknown"),
                    "use train, validation or test",
                ));
            }
        };
        Ok(part.cloned().map(PySamples::new))
    }
}

/// Reads a data set from a folder. `options` is a JSON object with `split`, `train` and `test` (numbers of samples), `seed`,
/// `time_steps`, `frames` (settings of frames), `pack`, and `shape` and `classes` for images that are read when they are needed.
#[pyfunction]
#[pyo3(signature = (name, folder, download, options))]
pub(super) fn load_data(
    py: Python<'_>,
    name: &str,
    folder: PathBuf,
    download: bool,
    options: &str,
) -> PyResult<PySplit> {
    let options = parse("options", options)?;
    let number = |key: &str| options[key].as_u64().map(|number| number as usize);
    let given = |key: &str, help: &str| {
        let value = options.get(key);
        value.map(|value| (value.clone(), help.to_string()))
    };
    let mut frames = match given("frames", "give for example frames=\"number=16\"") {
        None => FrameSettings::default(),
        Some((value, help)) => serde_json::from_value(value)
            .map_err(|error| invalid("frames", error.to_string(), help))?,
    };
    frames.unpacked = options["pack"] != true;
    let shape = match given("shape", "give three sizes, such as (3, 224, 224)") {
        None => [3, 224, 224],
        Some((value, help)) => serde_json::from_value(value)
            .map_err(|error| invalid("shape", error.to_string(), help))?,
    };
    let defaults = DataOptions::default();
    let options = DataOptions {
        folder,
        split: options["split"].as_str().map(String::from),
        train: number("train"),
        test: number("test"),
        image: shape,
        classes: number("classes").unwrap_or(defaults.classes),
        frames,
        time_steps: number("time_steps").unwrap_or(defaults.time_steps),
        seed: options["seed"].as_u64().unwrap_or(defaults.seed),
        download,
        ..defaults
    };
    PySplit::load(py, name, &options)
}
