//! The data set of a run.

use super::Experiment;
use crate::{DatasetId, Normalization, Settings};
use spikelet_core::document::{Located, Node};
use spikelet_data::{Entry, FrameSettings, SequenceSource, entries};
use spikelet_schema::{Schema, read_into};

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
    pub fn entry(&self) -> Option<Entry> {
        Entry::find(self.dataset.as_deref()?).ok()
    }

    /// Takes the data set of a run, and as many of its samples.
    pub(super) fn use_samples_of(&mut self, run: &DatasetId) {
        let known = entries()
            .into_iter()
            .find(|entry| entry.title() == run.name);
        self.dataset = known.map(|entry| entry.name.to_string());
        if known.is_some_and(|entry| !entry.is_images()) {
            // Their validation samples are not always a part of the training samples.
            return;
        }
        let train = run.train_samples.saturating_add(run.validation_samples);
        self.train_images = Some(train).filter(|images| *images > 0);
        self.test_images = Some(run.test_samples).filter(|images| *images > 0);
    }
}

/// The names of all data sets.
pub(super) fn dataset_names() -> Vec<&'static str> {
    entries().into_iter().map(|entry| entry.name).collect()
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
        let has_events = self.data.entry().is_some_and(|entry| entry.has_events());
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
        let refused = |error| node.refused(&error, "correct the value");
        match self.sequences().map_err(refused)? {
            None => Err(node.wrong("split", "\"auto\": only data sets of sequences have splits")),
            Some(source) if source.splits.contains(split) => Ok(()),
            Some(source) => Err(node.wrong("split", format!("one of {}", source.split_names()))),
        }
    }

    /// Uses the data set of this name, one of [`entries`]; the first that fits the network for `None`. With another data
    /// set than before, split and frames are the default ones, and sequences get their number of time steps:
    /// [`Settings::use_sequences`](crate::Settings::use_sequences). ImageNet brings its usual normalization and augmentation
    /// ([`LazyImages::augment`](spikelet_data::LazyImages::augment)), where there is none.
    pub fn use_dataset(&mut self, name: Option<String>) {
        if name == self.data.dataset {
            return;
        }
        self.data.dataset = name;
        self.settings.split = None;
        self.settings.frames = FrameSettings::default();
        let entry = self.data.entry();
        if let Some(source) = entry.and_then(|entry| entry.sequences()) {
            self.settings.use_sequences(source.steps);
        }
        let images = entry.and_then(|entry| entry.lazy_images());
        if let Some(images) = images
            && self.settings.augment.is_empty()
        {
            self.settings.augment = images.augment();
        }
        if images.is_some_and(|images| images.is_normalized())
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
        let steps = self.settings.time_steps;
        if let Some(entry) = self.data.entry()
            && let Some(source) = entry.sequences_of(&frames, steps)?
        {
            self.settings.time_steps = source.steps;
        }
        self.settings.frames = frames;
        Ok(())
    }

    /// The source of the sequences of the data set, if it is one of sequences.
    ///
    /// # Errors
    /// As [`Self::use_frames`].
    pub fn sequences(&self) -> spikelet_data::Result<Option<SequenceSource>> {
        let Settings {
            frames, time_steps, ..
        } = &self.settings;
        match self.data.entry() {
            Some(entry) => entry.sequences_of(frames, *time_steps),
            None => Ok(None),
        }
    }
}
