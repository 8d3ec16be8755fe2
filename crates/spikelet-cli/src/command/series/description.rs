//! The description of a series in its folder: its runs, their options and their results.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spikelet::train::EpochRecord;
use spikelet::train::run::RunInfo;
use std::path::Path;

/// The version of the description.
const FORMAT: u32 = 1;

/// A series of runs: the file `series.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    format: u32,
    /// The definition of the series, by which a resumed one is recognized.
    pub definition: Map<String, Value>,
    /// The arguments of `spikelet train` that all runs share.
    pub arguments: Vec<String>,
    /// The runs in their order.
    pub runs: Vec<SeriesRun>,
}

/// A run of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesRun {
    /// The name of its folder in that of the series.
    pub name: String,
    /// Its values of the settings that differ between the runs.
    pub values: Map<String, Value>,
    /// Its own arguments of `spikelet train`.
    pub arguments: Vec<String>,
    /// Its result, if it is completed.
    pub result: Option<RunResult>,
}

/// The result of a completed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// The number of completed epochs.
    pub epochs: usize,
    /// The epoch of the results: that with the best validation accuracy, or without a validation set the last one.
    pub epoch: Option<usize>,
    /// The validation accuracy of that epoch, from 0 to 1.
    pub validation_accuracy: Option<f64>,
    /// The test accuracy of that epoch, from 0 to 1.
    pub test_accuracy: Option<f64>,
    /// The seconds of the run.
    pub seconds: f64,
    /// The error of a run whose loss was not finite.
    pub diverged: Option<String>,
}

impl Description {
    pub fn new(
        definition: Map<String, Value>,
        arguments: Vec<String>,
        runs: Vec<SeriesRun>,
    ) -> Self {
        Self {
            format: FORMAT,
            definition,
            arguments,
            runs,
        }
    }

    /// Whether this version of the program reads the description.
    pub fn is_known(&self) -> bool {
        self.format == FORMAT
    }

    /// The runs with results, without those that diverged.
    pub fn results(&self) -> impl Iterator<Item = (&SeriesRun, &RunResult)> {
        let runs = self.runs.iter();
        let runs = runs.filter_map(|run| Some((run, run.result.as_ref()?)));
        runs.filter(|(_, result)| result.diverged.is_none())
    }

    /// The number of runs that diverged.
    pub fn diverged(&self) -> usize {
        let results = self.runs.iter().filter_map(|run| run.result.as_ref());
        results.filter(|result| result.diverged.is_some()).count()
    }
}

impl RunResult {
    /// The result of a run that is over.
    pub fn of(run: &RunInfo, diverged: Option<String>) -> Self {
        let epoch = run.best().or(run.history.last());
        let test = epoch.map(EpochRecord::test_accuracy);
        Self {
            epochs: run.history.len(),
            epoch: epoch.map(|epoch| epoch.epoch),
            validation_accuracy: epoch.and_then(EpochRecord::validation_accuracy),
            test_accuracy: test.filter(|accuracy| accuracy.is_finite()),
            seconds: run.seconds(),
            diverged,
        }
    }
}

/// The text of an experiment in a file, as part of a definition: a changed file is another experiment. Nothing for a
/// named network.
///
/// # Errors
/// When the file cannot be read.
pub fn experiment_text(experiment: &str) -> Result<Option<(String, Value)>, Failure> {
    let path = Path::new(experiment);
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = spikelet::files::read(path).map_err(spikelet::Error::from)?;
    let text = String::from_utf8_lossy(&bytes);
    let name = "the file of the experiment".to_string();
    Ok(Some((name, Value::from(text))))
}
