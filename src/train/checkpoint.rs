//! Checkpoints: everything that a run needs to go on as if it had never stopped.

use super::Settings;
use crate::error::{Error, Result};
use crate::files;
use crate::model::Store;
use crate::network::Network;
use crate::tensors::TensorFile;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What an epoch came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// Mean loss of the training batches.
    pub train_loss: f64,
    /// Share of training images classified correctly, while the weights changed.
    pub train_accuracy: f64,
    /// Mean loss of the test set.
    pub test_loss: f64,
    /// Share of test images classified correctly.
    pub test_accuracy: f64,
    /// The best test accuracy so far.
    pub best_accuracy: f64,
    /// Training images a second.
    pub images_per_second: f64,
    /// Seconds of this epoch, test included.
    pub seconds: f64,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Optimiser steps so far.
    pub step: u64,
    /// The present epoch, counted from 0.
    pub epoch: usize,
    /// The next batch of it, over all ranks together.
    pub batch: usize,
    /// Images of it that are done, over all ranks: the next batch begins there, also with another
    /// number of ranks.
    #[serde(default)]
    pub images: usize,
    /// How many ranks there are; 0 in checkpoints of runs that knew none.
    #[serde(default)]
    pub ranks: usize,
    /// Sum of the mean losses of its batches so far.
    pub loss_sum: f64,
    /// Correct images of its batches so far.
    pub correct: f64,
    /// Seconds of training batches of this epoch so far.
    pub train_seconds: f64,
    /// Seconds of the run so far.
    pub seconds: f64,
    /// The epochs that are done.
    pub history: Vec<EpochRecord>,
}

impl Progress {
    /// The best test accuracy so far.
    pub fn best(&self) -> f64 {
        self.history.last().map_or(0.0, |r| r.best_accuracy)
    }
}

/// A network's tensors with how they were made.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Parameters, and optimiser tensors if it can be resumed.
    pub tensors: TensorFile,
    /// The network, unless it is a program's own.
    pub network: Option<Network>,
    /// How it is trained.
    pub settings: Settings,
    /// How far the run is.
    pub progress: Progress,
    /// The data set it is trained on.
    pub dataset: String,
}

const FORMAT: &str = "spikelet checkpoint 1";

fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("settings and progress are plain data")
}

impl Checkpoint {
    /// Takes the tensors of a store: parameters only, or all.
    ///
    /// # Errors
    /// When the device fails.
    pub fn take(
        store: &Store,
        names: impl Iterator<Item = String>,
        network: Option<&Network>,
        settings: &Settings,
        progress: &Progress,
        dataset: &str,
    ) -> Result<Self> {
        let mut tensors = TensorFile::default();
        for name in names {
            let value = store.get(&name)?;
            tensors.tensors.insert(name, value);
        }
        Ok(Self {
            tensors,
            network: network.cloned(),
            settings: settings.clone(),
            progress: progress.clone(),
            dataset: dataset.to_string(),
        })
    }

    /// Writes it atomically.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut file = self.tensors.clone();
        let entries = [
            ("format", FORMAT.to_string()),
            ("network", to_json(&self.network)),
            ("settings", to_json(&self.settings)),
            ("progress", to_json(&self.progress)),
            ("dataset", self.dataset.clone()),
        ];
        file.metadata
            .extend(entries.map(|(k, v)| (k.to_string(), v)));
        file.write(path)
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is no checkpoint, or not of this version.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of_bytes(&files::read(path)?, path)
    }

    /// The checkpoint that a file holds.
    ///
    /// # Errors
    /// As [`Checkpoint::read`], naming the file.
    pub(super) fn of_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let tensors = TensorFile::of_bytes(bytes, path)?;
        let bad = |problem: String| Error::Checkpoint {
            path: path.to_path_buf(),
            problem,
            help: "give a checkpoint that `spikelet train` wrote, such as best.safetensors"
                .to_string(),
        };
        let entry = |name: &str| {
            let found = tensors.metadata.get(name).map(String::as_str);
            found.ok_or_else(|| bad(format!("the metadata has no `{name}`")))
        };
        let format = entry("format")?;
        if format != FORMAT {
            return Err(bad(format!(
                "its format is `{format}`, this program reads `{FORMAT}`"
            )));
        }
        fn parse<T: serde::de::DeserializeOwned>(text: &str) -> std::result::Result<T, String> {
            serde_json::from_str(text).map_err(|e| e.to_string())
        }
        let settings: Settings = parse(entry("settings")?).map_err(bad)?;
        let mut progress: Progress = parse(entry("progress")?).map_err(bad)?;
        if progress.ranks == 0 {
            progress.ranks = 1;
            progress.images = progress.batch * settings.batch_size;
        }
        Ok(Self {
            network: parse(entry("network")?).map_err(bad)?,
            settings,
            progress,
            dataset: entry("dataset")?.to_string(),
            tensors,
        })
    }

    /// Puts its tensors into a store.
    ///
    /// # Errors
    /// When a tensor has another type than the store's.
    pub fn restore(&self, store: &mut Store) -> Result<()> {
        for (name, tensor) in &self.tensors.tensors {
            store.insert(name, tensor)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_that_knows_no_ranks_is_one_rank_s() -> Result<()> {
        let old = r#"{"step":7,"epoch":1,"batch":3,"loss_sum":0.5,"correct":9.0,
            "train_seconds":1.0,"seconds":2.0,"history":[]}"#;
        let progress: Progress = serde_json::from_str(old).expect("an old progress");
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("last.safetensors");
        let settings = Settings {
            batch_size: 20,
            ..Settings::default()
        };
        let checkpoint = Checkpoint {
            tensors: TensorFile::default(),
            network: None,
            settings,
            progress,
            dataset: "none".to_string(),
        };
        checkpoint.write(&path)?;
        let read = Checkpoint::read(&path)?.progress;
        assert_eq!((read.ranks, read.images, read.batch), (1, 60, 3));
        Ok(())
    }
}
