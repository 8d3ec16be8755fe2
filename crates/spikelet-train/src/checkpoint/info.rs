//! The metadata of a checkpoint, without its tensors.

use super::error::CheckpointProblem;
use super::fields::parse;
use super::model_folder::with_config;
use super::{DatasetId, FORMAT, Progress, RunDefinition, entry, unfit, upgrade};
use crate::folder::checkpoint_file;
use serde_json::Value;
use spikelet_core::Result;
use spikelet_nn::tensors::TensorFile;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The metadata of a [`Checkpoint`](super::Checkpoint): all but its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointInfo {
    /// What was trained, and how.
    pub definition: RunDefinition,
    /// The progress of the run.
    pub progress: Progress,
    /// The data of the run.
    pub dataset: DatasetId,
}

impl CheckpointInfo {
    /// Reads the header of a checkpoint, whose tensors may have any size, and checks it as
    /// [`Checkpoint::read`](super::Checkpoint::read) does.
    ///
    /// ```no_run
    /// use spikelet_train::checkpoint::CheckpointInfo;
    /// let info = CheckpointInfo::read("runs/mnist-fc/latest/last.safetensors")?;
    /// println!("{} epochs on {}", info.progress.epoch, info.dataset.name);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`CheckpointError`](super::CheckpointError) when it is not a checkpoint, has another format, or is inconsistent;
    /// when the file cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = checkpoint_file(path)?;
        let mut texts = TensorFile::read_metadata(&path)?;
        with_config(&mut texts, &path)?;
        Self::of_texts(&texts).map_err(|problem| unfit(&path, problem))
    }

    /// The number of epochs of the run.
    pub fn epochs(&self) -> usize {
        self.definition.settings.epochs
    }

    pub(super) fn of_texts(texts: &BTreeMap<String, String>) -> Result<Self, CheckpointProblem> {
        let format = texts.get("format").ok_or_else(|| {
            CheckpointProblem::NotACheckpoint("the metadata has no `format`".to_string())
        })?;
        let earlier = format == upgrade::EARLIER;
        if format != FORMAT && !earlier {
            return Err(CheckpointProblem::Format {
                found: format.clone(),
                expected: FORMAT,
            });
        }
        let mut metadata = HashMap::new();
        for name in ["network", "settings", "step", "progress", "dataset"] {
            let Some(text) = texts.get(name) else {
                continue;
            };
            let value: Value = serde_json::from_str(text)
                .map_err(|e| CheckpointProblem::NotACheckpoint(format!("{name}: {e}")))?;
            metadata.insert(name.to_string(), value);
        }
        if earlier {
            upgrade::upgrade(&mut metadata);
        }
        let definition = RunDefinition::read(&metadata)?;
        let dataset: DatasetId = parse("dataset", entry(&metadata, "dataset")?)?;
        let mut progress: Progress = parse("progress", entry(&metadata, "progress")?)?;
        if dataset.validation_samples > 0 {
            progress.restore_validation();
        }
        progress.check(&definition.size(&dataset))?;
        Ok(Self {
            definition,
            progress,
            dataset,
        })
    }
}
