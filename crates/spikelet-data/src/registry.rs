//! Data sets by name.

use std::path::Path;

use crate::error::{Error, Result};
use crate::event_data::{EventRecordings, FrameSettings};
use crate::fsdd;
use crate::lazy_images::LazyImages;
use crate::sequence_source::SequenceSource;
use crate::source::Source;
use crate::synthetic;
use spikelet_schema::{UnknownName, named};

/// The time steps of frames whose rule does not have a number.
const DEFAULT_STEPS: usize = 100;

/// A data set by its name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name, as on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// The kind of its samples, and the source of its files.
    pub data: EntryData,
}

/// The kind of the samples of a data set by name, and the source of its files.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum EntryData {
    /// Generated images, without files.
    Generated,
    /// Images in files, for an [`ImageDataset`](crate::ImageDataset).
    Images(fn() -> Source),
    /// Images that are read or computed when they are needed, in the shape of the network.
    LazyImages(LazyImages),
    /// Sequences in files, for any [`Dataset`](crate::Dataset).
    Sequences(fn() -> SequenceSource),
    /// Recordings of events, whose frames are sequences.
    Events(EventRecordings),
}

impl Entry {
    /// The data set of this name.
    ///
    /// ```
    /// assert!(spikelet_data::Entry::find("MNIST").is_ok());
    /// assert!(spikelet_data::Entry::find("nmist").is_err());
    /// ```
    ///
    /// # Errors
    /// When no data set has this name; the error names the closest one.
    pub fn find(name: &str) -> Result<Self, UnknownName> {
        named("data set", name, crate::entries(), |entry| entry.name)
    }

    /// The data sets of recordings of events.
    pub(crate) fn of_events() -> impl Iterator<Item = Self> {
        EventRecordings::all().map(|recordings| Self {
            name: recordings.name(),
            summary: recordings.summary(),
            data: EntryData::Events(recordings),
        })
    }

    /// The data sets of images that are not kept in memory.
    pub(crate) fn of_lazy_images() -> impl Iterator<Item = Self> {
        LazyImages::all().map(|images| Self {
            name: images.name(),
            summary: images.summary(),
            data: EntryData::LazyImages(images),
        })
    }

    /// The name of the data set in checkpoints.
    ///
    /// ```
    /// let mnist = spikelet_data::entries().into_iter().find(|entry| entry.name == "mnist");
    /// assert_eq!(mnist.map(|entry| entry.title()), Some("MNIST".to_string()));
    /// ```
    pub fn title(&self) -> String {
        match self.data {
            EntryData::Generated => synthetic::digits_of(0, 0, 0).train.name.clone(),
            EntryData::Images(source) => source().name,
            EntryData::LazyImages(images) => images.title().into(),
            EntryData::Sequences(source) => source().name,
            EntryData::Events(recordings) => recordings.title().into(),
        }
    }

    /// Whether its samples are images with a label each.
    #[must_use]
    pub fn is_images(&self) -> bool {
        match self.data {
            EntryData::Generated | EntryData::Images(_) | EntryData::LazyImages(_) => true,
            EntryData::Sequences(_) | EntryData::Events(_) => false,
        }
    }

    /// The source of the files of images that are kept in memory; `None` for others.
    #[must_use]
    pub fn source(&self) -> Option<Source> {
        match self.data {
            EntryData::Images(source) => Some(source()),
            _ => None,
        }
    }

    /// The images that are read or computed when they are needed, if it has such images.
    #[must_use]
    pub fn lazy_images(&self) -> Option<LazyImages> {
        match self.data {
            EntryData::LazyImages(images) => Some(images),
            _ => None,
        }
    }

    /// The source of sequences; `None` for images. Recordings of events have the frames of the data set.
    ///
    /// ```
    /// let entries = spikelet_data::entries();
    /// let qtdb = entries.iter().find_map(|entry| entry.sequences().filter(|_| entry.name == "qtdb"));
    /// assert_eq!(qtdb.and_then(|source| source.shape), Some(spikelet_data::StepShape::Features(4)));
    /// ```
    #[must_use]
    pub fn sequences(&self) -> Option<SequenceSource> {
        let frames = FrameSettings::default();
        self.sequences_of(&frames, DEFAULT_STEPS).ok().flatten()
    }

    /// As [`Self::sequences`], with these frames of recordings of events; `steps` is the number of time steps where the rule
    /// of the frames does not have one.
    ///
    /// # Errors
    /// As [`EventRecordings::sequences`].
    pub fn sequences_of(
        &self,
        frames: &FrameSettings,
        steps: usize,
    ) -> Result<Option<SequenceSource>> {
        match self.data {
            EntryData::Sequences(source) => Ok(Some(source())),
            EntryData::Events(recordings) => recordings.sequences(frames, steps).map(Some),
            EntryData::Generated | EntryData::Images(_) | EntryData::LazyImages(_) => Ok(None),
        }
    }

    /// The recordings of events from which its samples are computed, so that [`FrameSettings`] apply to them.
    #[must_use]
    pub fn events(&self) -> Option<EventRecordings> {
        match self.data {
            EntryData::Events(recordings) => Some(recordings),
            _ => None,
        }
    }

    /// Whether its files are in the data folder `dir`. Generated data sets are in no folder. Sequences are read to tell.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// assert!(!spikelet_data::entries().iter().any(|entry| entry.is_in(folder.path())));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn is_in(&self, dir: &Path) -> bool {
        match self.data {
            EntryData::Generated => false,
            EntryData::Images(source) => source().is_in(dir),
            EntryData::LazyImages(images) => images.is_in(dir),
            EntryData::Sequences(source) => {
                let source = source();
                // One that is damaged is there, and its error is to be seen.
                let absent = |error: &Error| {
                    matches!(
                        error,
                        Error::NoFiles { .. }
                            | Error::MissingFiles { .. }
                            | Error::OtherDataset { .. }
                    )
                };
                self.has_files() && !source.load(dir, None).is_err_and(|error| absent(&error))
            }
            EntryData::Events(recordings) => recordings.is_in(dir),
        }
    }

    /// Whether reading it would write into the data folder `dir`: recordings of a set are packed there, and audio is encoded
    /// there, once.
    #[must_use]
    pub fn writes_into(&self, dir: &Path) -> bool {
        match self.data {
            EntryData::Events(recordings) => recordings.writes_into(dir),
            EntryData::Sequences(_) if self.name == fsdd::ENTRY.name => !fsdd::is_encoded_in(dir),
            _ => false,
        }
    }

    /// Whether its samples come from files.
    #[must_use]
    pub fn has_files(&self) -> bool {
        !self.name.starts_with("synthetic")
    }

    /// Whether its files are of no known data set but one's own: images or recordings in a folder for each class.
    #[must_use]
    pub fn is_own(&self) -> bool {
        match self.data {
            #[cfg(feature = "images")]
            EntryData::LazyImages(images) => images == LazyImages::Folder,
            EntryData::Events(recordings) => matches!(recordings, EventRecordings::Own),
            _ => false,
        }
    }

    /// Whether its samples are computed from events.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.events().is_some()
    }
}

/// Declares the data sets: a public module for each, with its `ENTRY`.
macro_rules! data_sets {
    ($($module:ident,)*) => {
        $(pub mod $module;)*

        /// All data sets, in the order of their declaration.
        ///
        /// ```
        /// let names: Vec<&str> = spikelet_data::entries().iter().map(|entry| entry.name).collect();
        /// assert!(names.contains(&"mnist"));
        /// ```
        pub fn entries() -> Vec<Entry> {
            let mut entries = vec![$($module::ENTRY),*];
            entries.extend($crate::registry::Entry::of_lazy_images());
            entries.extend($crate::registry::Entry::of_events());
            entries
        }
    };
}

pub(crate) use data_sets;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn names_and_titles_of_data_sets_are_unique() {
        let entries = crate::entries();
        let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), entries.len());
        let generated = entries.iter().filter(|entry| !entry.has_files());
        let generated: Vec<&str> = generated.map(|entry| entry.name).collect();
        let expected = [
            "synthetic",
            "synthetic-braille",
            "synthetic-images",
            "synthetic-gestures",
            "synthetic-gestures-34",
            "synthetic-moving-digits",
            "synthetic-spoken-digits",
        ];
        assert_eq!(generated, expected);
        let titles: BTreeSet<String> = entries.iter().map(|entry| entry.title()).collect();
        assert_eq!(titles.len(), entries.len());
    }
}
