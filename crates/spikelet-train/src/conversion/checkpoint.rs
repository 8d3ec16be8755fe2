//! A converted network as a checkpoint, which `spikelet eval` and others take.

use super::network::TrainedLayers;
use crate::Settings;
use crate::checkpoint::{Checkpoint, DatasetId, Progress, RunDefinition};
use spikelet_core::Result;
use spikelet_graph::DType;
use spikelet_nn::encoder::Direct;
use spikelet_nn::network::Network;

impl TrainedLayers {
    /// The network as a checkpoint that is evaluated with `time_steps` time steps, and otherwise with the settings of the
    /// training. `run` is the progress of the network without spikes, if it was trained here.
    ///
    /// # Errors
    /// When `time_steps` is 0, or another setting is wrong.
    pub fn checkpoint(
        &self,
        settings: &Settings,
        time_steps: usize,
        run: Option<&Progress>,
        dataset: &DatasetId,
    ) -> Result<Checkpoint> {
        let settings = Settings {
            time_steps,
            // That of networks without spikes, and so of converted ones.
            encoder: Direct.into(),
            batch_size: settings.batch_size.min(dataset.train_samples.max(1)),
            ..settings.clone()
        };
        settings.check()?;
        let tensors = self.tensors.iter();
        let tensors = tensors.map(|(name, tensor)| (name.clone(), tensor.cast(DType::F32)));
        let none = Progress {
            ranks: 1,
            ..Progress::default()
        };
        Ok(Checkpoint::of_tensors(
            tensors.collect(),
            RunDefinition::of_classifier(Some(Network::Layers(self.layers.clone())), settings),
            run.cloned().unwrap_or(none),
            dataset.clone(),
        ))
    }
}
