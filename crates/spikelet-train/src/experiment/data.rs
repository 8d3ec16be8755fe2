//! The data set of a run.

use super::Experiment;
use crate::checkpoint::DatasetId;
use crate::{Normalization, Settings};
use spikelet_core::document::{Located, Node};
use spikelet_data::{DataOptions, Field, FrameSettings, NamedDataset, find, named_datasets};
use spikelet_schema::{Schema, read_into};
use std::path::PathBuf;

/// The word for the first data set that fits the network.
const AUTO: &str = "auto";

/// The data set of an experiment, and how its samples are used. Augmentation, normalization, split and validation are in
/// [`Settings`](crate::Settings).
#[derive(Clone, Debug, PartialEq, Schema)]
#[non_exhaustive]
pub struct DataSettings {
    /// The data set; `auto` is the first that fits the network.
    #[schema(table = "data", none = "auto")]
    pub dataset: Option<String>,
    /// Number of training samples, the first ones.
    #[schema(table = "data", none = "all", at_least = 1)]
    pub train_images: Option<usize>,
    /// Number of test samples, the first ones.
    #[schema(table = "data", none = "all", at_least = 1)]
    pub test_images: Option<usize>,
    /// Threads that load and augment batches.
    #[schema(table = "data", none = "auto", from = 1, to = 1024)]
    pub loader_threads: Option<usize>,
}

impl DataSettings {
    /// The data set, if it is named.
    pub fn named(&self) -> Option<&'static dyn NamedDataset> {
        find(self.dataset.as_deref()?).ok()
    }

    /// Takes the data set of a run, and as many of its samples.
    pub(super) fn use_samples_of(&mut self, run: &DatasetId) {
        let known = named_datasets().find(|dataset| dataset.title() == run.name);
        self.dataset = known.map(|dataset| dataset.name().to_string());
        let fields = known.and_then(|dataset| dataset.fields(&DataOptions::default()).ok());
        if fields.is_some_and(|fields| steps_of(&fields).is_some()) {
            // The validation samples of sequences are not always a part of the training samples.
            return;
        }
        let train = run.train_samples.saturating_add(run.validation_samples);
        self.train_images = Some(train).filter(|images| *images > 0);
        self.test_images = Some(run.test_samples).filter(|images| *images > 0);
    }
}

/// The number of time steps of sequences with these fields; `None` for images.
fn steps_of(fields: &[Field]) -> Option<usize> {
    let x = fields.iter().find(|field| field.name == "x")?;
    x.shape.first().copied().flatten()
}

/// The names of all data sets.
pub(super) fn dataset_names() -> Vec<&'static str> {
    named_datasets().map(|dataset| dataset.name()).collect()
}

impl Experiment {
    /// Takes the data set that a file names, and its frames of recordings, whose defaults the other keys of the file replace.
    pub(super) fn read_dataset(&mut self, root: &Node) -> Result<(), Located> {
        let Some(table) = root.get("data") else {
            return Ok(());
        };
        if let Some(node) = table.get("dataset") {
            let names = [&dataset_names()[..], &[AUTO]].concat();
            let name = node.choice("dataset", &names)?;
            self.use_dataset((name != AUTO).then(|| name.to_string()));
        }
        let mut frames = self.settings.frames.clone();
        let keys: Vec<&str> = FrameSettings::DECLARATION
            .fields
            .iter()
            .map(|field| field.key)
            .collect();
        let given = table.only(|key| keys.contains(&key));
        let Some(last) = given.entries().and_then(|entries| entries.last()) else {
            return Ok(());
        };
        read_into(&mut frames, &given)?;
        let has_events = self
            .data
            .named()
            .is_some_and(|named| named.events().is_some());
        if !has_events && !frames.is_default() {
            let expected = "a data set of recordings of events as `dataset`, to which it applies";
            return Err(last.value.wrong(&last.key, expected));
        }
        self.use_frames(frames)
            .map_err(|error| last.value.refused(&error, "correct the value"))
    }

    /// Checks that the data set has the split.
    pub(super) fn check_split(&self, root: &Node) -> Result<(), Located> {
        let given = root.get("data").and_then(|table| table.get("split"));
        let (Some(split), Some(node)) = (&self.settings.split, given) else {
            return Ok(());
        };
        let Some(named) = self.data.named() else {
            return Err(node.wrong("split", "\"auto\": the data set is not named"));
        };
        match named.splits() {
            known if known.contains(split) => Ok(()),
            known if known.is_empty() => {
                Err(node.wrong("split", "\"auto\": only data sets of sequences have splits"))
            }
            _ => Err(node.wrong("split", format!("one of {}", named.split_names()))),
        }
    }

    /// Uses the data set of this name, which [`find`] knows; the first that fits the network for `None`. With another data
    /// set than before, split and frames are the default ones, and sequences get their number of time steps:
    /// [`Settings::use_sequences`](crate::Settings::use_sequences). ImageNet sets its usual normalization, and its
    /// usual augmentation ([`NamedDataset::augment`]) if no augmentation is set.
    pub fn use_dataset(&mut self, name: Option<String>) {
        if name == self.data.dataset {
            return;
        }
        self.data.dataset = name;
        self.settings.split = None;
        self.settings.frames = FrameSettings::default();
        let Some(named) = self.data.named() else {
            return;
        };
        let fields = named.fields(&DataOptions::default()).unwrap_or_default();
        if let Some(steps) = steps_of(&fields) {
            self.settings.use_sequences(steps);
        }
        if self.settings.augment.is_empty() {
            self.settings.augment = named.augment();
        }
        if named.is_normalized()
            && self.settings.encoder.name() == "direct"
            && self.settings.normalize == Normalization::None
        {
            self.settings.normalize = Normalization::Auto;
        }
    }

    /// Sets the frames of recordings of events, and the number of time steps that they have.
    ///
    /// # Errors
    /// [`Error::Events`](spikelet_data::Error::Events) if a setting is out of range for the sensor of the data set.
    pub fn use_frames(&mut self, frames: FrameSettings) -> spikelet_data::Result<()> {
        self.settings.frames = frames;
        if let Some(named) = self.data.named() {
            let fields = named.fields(&self.data_options(""))?;
            self.settings.time_steps = steps_of(&fields).unwrap_or(self.settings.time_steps);
        }
        Ok(())
    }

    /// What is read of the data set in this folder of data sets.
    pub fn data_options(&self, folder: impl Into<PathBuf>) -> DataOptions {
        let Settings {
            split,
            frames,
            time_steps,
            ..
        } = &self.settings;
        DataOptions {
            folder: folder.into(),
            split: split.clone(),
            train: self.data.train_images,
            test: self.data.test_images,
            image: self.network.image(),
            classes: self.network.classes(),
            frames: frames.clone(),
            time_steps: *time_steps,
            ..DataOptions::default()
        }
    }
}
