//! The runs in a folder: their definitions, results and states, read without their tensors.

use super::checkpoint::{CheckpointInfo, Difference, EpochRecord, best_of, differences, joined};
use super::folder::{
    BEST, EPOCHS, EXPERIMENT, LAST, LOCK, REPORT, RunFolderError, holder, latest_run,
};
use super::health::{self, Evidence, Finding};
use crate::experiment::Experiment;
use serde_json::Value;
use spikelet_core::files::FileError;
use spikelet_core::{Error, Result};
use spikelet_nn::network::Network;
use spikelet_report::log::jsonl;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunState {
    /// A process is writing to its folder.
    Running {
        /// The id of the process, if it is known.
        pid: Option<u32>,
    },
    /// It has trained all epochs, or it was stopped early.
    Finished,
    /// It ended before its last epoch, and can be resumed.
    Interrupted,
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running { .. } => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
        })
    }
}

/// A run: its folder without the tensors.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// The folder.
    pub folder: PathBuf,
    /// The state.
    pub state: RunState,
    /// The completed epochs.
    pub history: Vec<EpochRecord>,
    /// The metadata of the checkpoint for resuming, or of the best one; `None` until the first one is written.
    pub checkpoint: Option<CheckpointInfo>,
    /// The experiment of a run without a checkpoint, if its file can be read.
    pub experiment: Option<Box<Experiment>>,
}

/// A setting with a value for each of several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path of the field, such as `optimizer.lr`.
    pub field: String,
    /// Its value in each run; `None` if the run does not have it.
    pub values: Vec<Option<Value>>,
}

/// A folder among runs that is not read.
#[derive(Debug)]
pub struct SkippedFolder {
    /// The folder.
    pub folder: PathBuf,
    /// The error of a damaged run; `None` for a folder without a run.
    pub error: Option<Error>,
}

/// The runs below a folder.
#[derive(Debug, Default)]
pub struct FoundRuns {
    /// The runs in the order of their folders.
    pub runs: Vec<RunInfo>,
    /// The other folders.
    pub skipped: Vec<SkippedFolder>,
}

impl RunInfo {
    /// Reads a run: `run` is its folder, a file in it, or a folder of runs, of which the latest is read.
    ///
    /// # Errors
    /// When there is no run; when its checkpoint or its log of epochs is damaged.
    pub fn read(run: impl AsRef<Path>) -> Result<Self> {
        let run = run.as_ref();
        let folder = match run.is_file() {
            true => run.parent().unwrap_or(Path::new(".")),
            false => run,
        };
        if holds_run(folder) {
            return Self::of_folder(folder);
        }
        let latest = latest_run(folder)?;
        match holds_run(&latest) {
            true => Self::of_folder(&latest),
            // The latest is a series of runs.
            false => Err(RunFolderError::NoRuns { parent: latest }.into()),
        }
    }

    fn of_folder(folder: &Path) -> Result<Self> {
        // Before the files: a run that ends meanwhile is running.
        let holder = holder(folder);
        let mut files = [LAST, BEST].into_iter().map(|name| folder.join(name));
        let file = files.find(|path| path.exists());
        let checkpoint = file.map(CheckpointInfo::read).transpose()?;
        let epochs = folder.join(EPOCHS);
        let mut history: Vec<EpochRecord> = match epochs.exists() {
            true => jsonl::read(&epochs)?,
            false => vec![],
        };
        if let Some(checkpoint) = &checkpoint
            && history.len() < checkpoint.progress.history.len()
        {
            history.clone_from(&checkpoint.progress.history);
        }
        let file = folder.join(EXPERIMENT);
        let experiment = match checkpoint.is_none() && file.is_file() {
            true => Experiment::read_of_run(&file).ok().map(Box::new),
            false => None,
        };
        let epochs = checkpoint.as_ref().map(CheckpointInfo::epochs);
        let state = match holder {
            Some(pid) => RunState::Running { pid },
            None if epochs.is_some_and(|epochs| history.len() >= epochs) => RunState::Finished,
            None if is_reported(folder) => RunState::Finished,
            None => RunState::Interrupted,
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            state,
            history,
            checkpoint,
            experiment,
        })
    }

    /// The name of the network; `None` for a network or a step of one's own.
    pub fn network(&self) -> Option<&str> {
        let network = match &self.checkpoint {
            Some(checkpoint) => checkpoint.definition.network.as_ref(),
            None => self.experiment.as_ref().map(|own| &own.network),
        };
        network.map(Network::name)
    }

    /// The name of the data set, if it is known.
    pub fn dataset(&self) -> Option<String> {
        match &self.checkpoint {
            Some(checkpoint) => Some(checkpoint.dataset.name.clone()),
            None => Some(self.experiment.as_ref()?.data.named()?.title()),
        }
    }

    /// The number of epochs of the complete run, if it is known.
    pub fn epochs(&self) -> Option<usize> {
        match &self.checkpoint {
            Some(checkpoint) => Some(checkpoint.epochs()),
            None => Some(self.experiment.as_ref()?.settings.epochs),
        }
    }

    /// The epoch with the best value of the monitored metric on the validation set, if there is one.
    pub fn best(&self) -> Option<&EpochRecord> {
        best_of(&self.history)
    }

    /// The seconds of the run up to its last checkpoint, or of its completed epochs.
    pub fn seconds(&self) -> f64 {
        let checkpoint = self.checkpoint.as_ref();
        let until_checkpoint = checkpoint.map_or(0.0, |checkpoint| checkpoint.progress.seconds);
        let of_epochs = self.history.iter().map(|record| record.seconds);
        // The sum of nothing is -0.0.
        of_epochs
            .fold(0.0, |sum, own| sum + own)
            .max(until_checkpoint)
    }

    /// The evidence of the health of the run: its history, and the measurements in its folder.
    ///
    /// # Errors
    /// When the log of the measurements is damaged.
    pub fn evidence(&self) -> Result<Evidence> {
        let history = self.history.clone();
        let measured = health::evidence(&self.folder)?;
        Ok(Evidence {
            history,
            ..measured
        })
    }

    /// The problems of the run in words; empty for a healthy one.
    ///
    /// ```no_run
    /// for finding in spikelet_train::run::RunInfo::read("runs/mnist-fc/latest")?.findings()? {
    ///     println!("{finding}");
    /// }
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RunInfo::evidence`].
    pub fn findings(&self) -> Result<Vec<Finding>> {
        Ok(health::findings(&self.evidence()?))
    }

    /// The settings, network or step and data set by their paths, such as `optimizer.lr`.
    pub fn settings(&self) -> BTreeMap<String, Value> {
        let mut found = BTreeMap::new();
        let Some(checkpoint) = &self.checkpoint else {
            return found;
        };
        for (name, value) in definition_of(checkpoint) {
            flatten(name, value, &mut found);
        }
        found
    }

    /// The settings, the network or step and the data set that differ in another run; empty if one of the runs has
    /// no checkpoint yet.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let (Some(ours), Some(theirs)) = (&self.checkpoint, &other.checkpoint) else {
            return vec![];
        };
        let (ours, theirs) = (definition_of(ours), definition_of(theirs));
        let names: BTreeSet<&str> = ours.keys().chain(theirs.keys()).copied().collect();
        let none = Value::Null;
        let each = names.into_iter().flat_map(|name| {
            let value = |of: &BTreeMap<&str, Value>| of.get(name).unwrap_or(&none).clone();
            differences(name, &value(&ours), &value(&theirs))
        });
        each.collect()
    }
}

impl FoundRuns {
    /// The settings in which the runs differ. A field that only some of them have, such as a constant of their
    /// optimizer, is among them; the sizes of networks with different names are not.
    pub fn differing_settings(&self) -> Vec<Setting> {
        let all: Vec<BTreeMap<String, Value>> = self.runs.iter().map(RunInfo::settings).collect();
        // The settings of a run without a checkpoint are not known.
        let known = || (self.runs.iter().zip(&all)).filter(|(run, _)| run.checkpoint.is_some());
        let names: BTreeSet<Option<&str>> = known().map(|(run, _)| run.network()).collect();
        let fields: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
        let differs = |field: &&&String| {
            let mut values = known().map(|(_, settings)| settings.get(**field));
            let first = values.next();
            let is_listed = !field.starts_with("network.") || names.len() == 1;
            is_listed && values.any(|value| Some(value) != first)
        };
        let differing = fields.iter().filter(differs);
        let each = differing.map(|field| Setting {
            field: (*field).clone(),
            values: (all.iter())
                .map(|settings| settings.get(*field).cloned())
                .collect(),
        });
        each.collect()
    }
}

/// The runs in a folder and in the folders below it. Links are not followed.
///
/// ```no_run
/// for run in spikelet_train::run::find_runs("runs")?.runs {
///     println!("{}: {} epochs, {}", run.folder.display(), run.history.len(), run.state);
/// }
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// When the folder cannot be read. Damaged runs are in [`FoundRuns::skipped`].
pub fn find_runs(folder: impl AsRef<Path>) -> Result<FoundRuns> {
    let mut found = FoundRuns::default();
    search(folder.as_ref(), DEPTH, &mut found)?;
    Ok(found)
}

/// The number of levels of folders that are searched.
const DEPTH: usize = 8;

/// Searches a folder; returns whether there are runs in it.
fn search(folder: &Path, depth: usize, found: &mut FoundRuns) -> Result<bool> {
    if holds_run(folder) {
        match RunInfo::of_folder(folder) {
            Ok(run) => found.runs.push(run),
            Err(error) => found.skipped.push(SkippedFolder {
                folder: folder.to_path_buf(),
                error: Some(error),
            }),
        }
        return Ok(true);
    }
    let io = || FileError::io("read the folder", folder);
    let mut folders = vec![];
    for entry in std::fs::read_dir(folder).map_err(io())? {
        let entry = entry.map_err(io())?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth > 0 {
            folders.push(entry.path());
        }
    }
    folders.sort();
    let mut without = vec![];
    let mut any = false;
    for path in folders {
        match search(&path, depth - 1, found) {
            Ok(true) => any = true,
            Ok(false) => without.push(SkippedFolder {
                folder: path,
                error: None,
            }),
            Err(error) => without.push(SkippedFolder {
                folder: path,
                error: Some(error),
            }),
        }
    }
    // A folder without any run is named once, without those in it.
    if any || depth == DEPTH {
        found.skipped.extend(without);
    }
    Ok(any)
}

fn holds_run(folder: &Path) -> bool {
    let mut files = [LOCK, EPOCHS, LAST, BEST].into_iter();
    files.any(|name| folder.join(name).is_file())
}

/// Whether the report was written after the last epoch: an interrupted run has none.
fn is_reported(folder: &Path) -> bool {
    let time = |name: &str| folder.join(name).metadata().and_then(|m| m.modified());
    match (time(REPORT), time(EPOCHS)) {
        (Ok(report), Ok(epochs)) => report >= epochs,
        _ => false,
    }
}

/// The network and settings or the step, and the data set.
fn definition_of(checkpoint: &CheckpointInfo) -> BTreeMap<&'static str, Value> {
    let entries = checkpoint.definition.entries();
    let parsed = entries.into_iter();
    let parsed = parsed.map(|(name, text)| {
        // The tables of the settings have names of their own.
        let path = if name == "settings" { "" } else { name };
        (path, serde_json::from_str(&text).unwrap_or_default())
    });
    let mut values: BTreeMap<&'static str, Value> = parsed.collect();
    let dataset = serde_json::to_value(checkpoint.dataset.beside(&checkpoint.dataset));
    values.insert("dataset", dataset.unwrap_or_default());
    values
}

/// The values of an object by their paths.
pub(super) fn flatten(path: &str, value: Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                flatten(&joined(path, &name), value, found);
            }
        }
        value => {
            found.insert(path.to_string(), value);
        }
    }
}

#[cfg(test)]
mod tests;
