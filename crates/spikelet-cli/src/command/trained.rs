//! A trained network with test images.

use crate::args::{DataArgs, DataName, DeviceArgs};
use crate::failure::Failure;
use spikelet::data::ImageDataset;
use spikelet::log::Console;
use spikelet::network::Network;
use spikelet::runtime::VarStore;
use spikelet::train::Checkpoint;
use std::path::Path;
use std::sync::Arc;

/// The content of a checkpoint, and test images.
pub struct Trained {
    pub checkpoint: Checkpoint,
    pub network: Network,
    pub test: Arc<ImageDataset>,
    /// Its tensors, on the device.
    pub store: VarStore,
}

fn wrong(path: &Path, problem: impl std::fmt::Display, help: &str) -> Failure {
    Failure::other(format!("{}: {problem}", path.display()), help)
}

impl Trained {
    /// Reads a checkpoint and the test images of --dataset, or of the data set of its training.
    ///
    /// # Errors
    /// When its network is unknown, the images do not fit or are missing, or the device fails.
    pub fn open(
        path: &Path,
        data: &DataArgs,
        device: &DeviceArgs,
        console: &Console,
    ) -> Result<Self, Failure> {
        let backend = device.open()?;
        let checkpoint = Checkpoint::read(path)?;
        let network = checkpoint.network.clone().ok_or_else(|| {
            let help = "evaluate it in that program with `spikelet::train::evaluate`";
            wrong(path, "its network is a program's own", help)
        })?;
        let mut store = VarStore::new(backend);
        checkpoint.restore(&*network.module()?, network.image(), &mut store)?;
        let otherwise = DataName::of_dataset(&checkpoint.dataset.name);
        if otherwise.is_none() && data.data.is_none() {
            let known = &checkpoint.dataset.name;
            let problem = format!("it was trained on `{known}`, which is not known here");
            return Err(wrong(path, problem, "name a data set with --dataset"));
        }
        let test = data.load_test(otherwise, &network, console)?;
        Ok(Self {
            checkpoint,
            network,
            test,
            store,
        })
    }
}
