//! A trained network of a checkpoint, and its test images.

use crate::args::{DataArgs, DataName, DeviceArgs, EvaluationArgs};
use crate::failure::Failure;
use spikelet::data::ImageDataset;
use spikelet::log::Console;
use spikelet::network::Network;
use spikelet::runtime::VarStore;
use spikelet::train::{Checkpoint, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The content of a checkpoint.
pub struct Trained {
    pub path: PathBuf,
    pub checkpoint: Checkpoint,
    pub network: Network,
    /// Its tensors, on the device.
    pub store: VarStore,
}

impl Trained {
    /// Reads a checkpoint and copies its tensors to the device.
    ///
    /// # Errors
    /// When the file is not a checkpoint, its network is unknown, or the device fails.
    pub fn open(path: &Path, device: &DeviceArgs) -> Result<Self, Failure> {
        let backend = device.open()?;
        let checkpoint = Checkpoint::read(path)?;
        let path = path.to_path_buf();
        let network = checkpoint.network().cloned().ok_or_else(|| {
            let help = "evaluate it in that program with `spikelet::train::evaluate`";
            wrong(&path, "its network is a program's own", help)
        })?;
        let mut store = VarStore::new(backend);
        checkpoint.restore(&*network.module()?, network.image(), &mut store)?;
        Ok(Self {
            path,
            checkpoint,
            network,
            store,
        })
    }

    /// A checkpoint with the settings of its evaluation and the test images.
    ///
    /// # Errors
    /// As [`Trained::open`] and [`Trained::test`].
    pub fn evaluated(
        args: &EvaluationArgs,
        console: &Console,
    ) -> Result<(Self, Settings, Arc<ImageDataset>), Failure> {
        let trained = Self::open(&args.checkpoint, &args.device)?;
        let test = trained.test(&args.data, console)?;
        let mut settings = trained.checkpoint.settings()?.clone();
        settings.evaluation_batch = args.eval_batch_size.or(settings.evaluation_batch);
        Ok((trained, settings, test))
    }

    /// The data set of the training; `None` if this program does not know it.
    pub fn dataset(&self) -> Option<DataName> {
        DataName::of_dataset(&self.checkpoint.dataset.name)
    }

    /// Reads the test images of --dataset, or of the data set of the training.
    ///
    /// # Errors
    /// When the data set is unknown, or the images do not fit or are missing.
    pub fn test(&self, data: &DataArgs, console: &Console) -> Result<Arc<ImageDataset>, Failure> {
        let otherwise = self.dataset();
        if otherwise.is_none() && data.data.is_none() {
            let known = &self.checkpoint.dataset.name;
            let problem = format!("it was trained on `{known}`, which is not known here");
            return Err(wrong(&self.path, problem, "name a data set with --dataset"));
        }
        data.load_test(otherwise, &self.network, console)
    }
}

fn wrong(path: &Path, problem: impl std::fmt::Display, help: &str) -> Failure {
    Failure::other(format!("{}: {problem}", path.display()), help)
}
