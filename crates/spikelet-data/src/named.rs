//! Data sets by name.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use crate::augment::Augment;
use crate::error::{Error, Result};
use crate::event_data::{EventRecordings, FrameSettings};
use crate::field::Field;
use crate::lines::first_names;
use crate::progress::Progress;
use crate::sample::Sample;
use crate::split::Split;

/// What is read of a data set by its name. A data set has no use for the options of others.
#[derive(Clone, Debug, PartialEq)]
pub struct DataOptions {
    /// The folder of data sets.
    pub folder: PathBuf,
    /// The split, one of [`NamedDataset::splits`]; by default the first.
    pub split: Option<String>,
    /// The number of training samples: the first ones; all by default.
    pub train: Option<usize>,
    /// The number of test samples: the first ones; all by default.
    pub test: Option<usize>,
    /// Channels, height and width to which images of any size are brought, and of generated images.
    pub image: [usize; 3],
    /// The number of classes of generated images.
    pub classes: usize,
    /// The frames of recordings of events.
    pub frames: FrameSettings,
    /// The number of time steps of frames whose rule does not have one.
    pub time_steps: usize,
    /// The seed of generated digits.
    pub seed: u64,
    /// Whether missing files are downloaded, of data sets with a mirror.
    pub download: bool,
    /// Whether the progress of downloads and encodings is shown.
    pub progress: Progress,
}

impl Default for DataOptions {
    /// All samples in the folder `data`, without downloads; images of 3 × 224 × 224 and 1000 classes, 100 time steps.
    fn default() -> Self {
        Self {
            folder: "data".into(),
            split: None,
            train: None,
            test: None,
            image: [3, 224, 224],
            classes: 1000,
            frames: FrameSettings::default(),
            time_steps: 100,
            seed: 0,
            download: false,
            progress: Progress::Quiet,
        }
    }
}

/// The files of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Files of a published data set.
    Files,
    /// Files of one's own: images or recordings in a folder for each class.
    OwnFiles,
    /// None: samples are generated.
    Generated,
}

/// A data set by its name: what is known before its files are read, and how they are read.
pub trait NamedDataset: Debug + Send + Sync {
    /// The name, as in files and on the command line.
    fn name(&self) -> &'static str;

    /// A description in one line.
    fn summary(&self) -> &'static str;

    /// The name of the data set in checkpoints.
    fn title(&self) -> String {
        self.name().into()
    }

    /// Where its samples come from.
    fn origin(&self) -> Origin {
        Origin::Files
    }

    /// The fields of its samples. Sizes are variable if only the files say them.
    ///
    /// # Errors
    /// If an option is out of range.
    fn fields(&self, options: &DataOptions) -> Result<Vec<Field>>;

    /// The names of its classes; none, if only its files or the network say them.
    ///
    /// # Errors
    /// If the folder of the options is needed and cannot be read.
    fn classes(&self, options: &DataOptions) -> Result<Vec<String>>;

    /// The names of its splits, the first of which is the default; none if it has only one.
    fn splits(&self) -> Vec<String> {
        vec![]
    }

    /// Whether its files are in the folder. Generated data sets are in no folder.
    fn is_in(&self, folder: &Path) -> bool;

    /// Whether reading it would write into the folder: recordings of a set are packed there, and audio is encoded there, once.
    fn writes_into(&self, folder: &Path) -> bool {
        let _ = folder;
        false
    }

    /// The recordings of events from which its samples are computed, so that [`FrameSettings`] apply to them.
    fn events(&self) -> Option<EventRecordings> {
        None
    }

    /// Whether its images have any size, and are brought to that of the options.
    fn is_resized(&self) -> bool {
        false
    }

    /// The usual augmentation of its training images.
    fn augment(&self) -> Augment {
        Augment::default()
    }

    /// Whether pixels are normalized unless the user decides otherwise.
    fn is_normalized(&self) -> bool {
        false
    }

    /// The endings of the names of files that have one of its samples each, such as `wav`; none, if its samples are in files
    /// together, or are images or recordings of events.
    fn sample_endings(&self) -> &'static [&'static str] {
        &[]
    }

    /// The sequence `x`, `[T, C]`, of a file with one sample, computed as those of the data set. The sample has no labels.
    ///
    /// # Errors
    /// [`Error::NoSampleFiles`] if there are no such files; if the file cannot be read.
    fn read_sample(&self, path: &Path) -> Result<Sample<'static>> {
        Err(no_sample_files(self, path))
    }

    /// Reads or generates its samples; called by `load`, which keeps the first ones and checks the name of the
    /// split.
    ///
    /// # Errors
    /// If files are missing or damaged.
    fn read(&self, options: &DataOptions) -> Result<Split>;
}

/// The error of a data set whose samples are not in files of their own.
pub(crate) fn no_sample_files(dataset: &(impl NamedDataset + ?Sized), path: &Path) -> Error {
    Error::NoSampleFiles {
        dataset: dataset.title(),
        path: path.into(),
    }
}

impl dyn NamedDataset {
    /// Reads or generates the data set.
    ///
    /// ```no_run
    /// use spikelet_data::{DataOptions, find};
    /// let split = find("fsdd")?.load(&DataOptions { split: Some("held-out-theo".into()), ..Default::default() })?;
    /// assert_eq!(split.test.len(), 450);
    /// # Ok::<(), spikelet_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownSplit`]; if files are missing or damaged.
    pub fn load(&self, options: &DataOptions) -> Result<Split> {
        let known = self.splits();
        if let Some(given) = &options.split
            && !known.contains(given)
        {
            return Err(Error::UnknownSplit {
                dataset: self.title(),
                given: given.clone(),
                known,
            });
        }
        let mut split = self.read(options)?;
        split.keep_first(options.train, options.test)?;
        Ok(split)
    }

    /// Whether its samples come from files.
    #[must_use]
    pub fn has_files(&self) -> bool {
        self.origin() != Origin::Generated
    }

    /// The names of the splits in words: the first eight, and how many others there are.
    #[must_use]
    pub fn split_names(&self) -> String {
        first_names(&self.splits())
    }
}

/// Declares the data sets: a public module for each, with its `ENTRY`, in the root of the crate.
macro_rules! data_sets {
    ($($module:ident,)*) => {
        $(pub mod $module;)*

        /// The data set of this name.
        ///
        /// ```
        /// let digits = spikelet_data::find("synthetic")?;
        /// let options = spikelet_data::DataOptions { train: Some(100), ..Default::default() };
        /// assert_eq!(digits.load(&options)?.train.len(), 100);
        /// assert!(spikelet_data::find("mnits").unwrap_err().to_string().contains("did you mean `mnist`?"));
        /// # Ok::<(), spikelet_data::Error>(())
        /// ```
        ///
        /// # Errors
        /// [`Error::Unknown`].
        pub fn find(name: &str) -> Result<&'static dyn NamedDataset> {
            Ok(spikelet_schema::named("data set", name, named_datasets(), |dataset| {
                dataset.name()
            })?)
        }

        /// All data sets, in the order of their declaration.
        ///
        /// ```
        /// assert!(spikelet_data::named_datasets().any(|dataset| dataset.name() == "mnist"));
        /// ```
        pub fn named_datasets() -> impl Iterator<Item = &'static dyn NamedDataset> {
            static ALL: std::sync::LazyLock<Vec<Box<dyn NamedDataset>>> = std::sync::LazyLock::new(|| {
                let mut all: Vec<Box<dyn NamedDataset>> = vec![$(Box::new($module::ENTRY)),*];
                all.extend(LazyImages::all().map(|images| Box::new(images) as Box<_>));
                all.extend(EventRecordings::all().map(|recordings| Box::new(recordings) as Box<_>));
                all
            });
            ALL.iter().map(|dataset| &**dataset)
        }
    };
}

pub(crate) use data_sets;

#[cfg(test)]
mod tests {
    use crate::named_datasets;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_titles_of_data_sets_are_unique() {
        let names: BTreeSet<&str> = named_datasets().map(|dataset| dataset.name()).collect();
        assert_eq!(names.len(), named_datasets().count());
        let generated = named_datasets().filter(|dataset| !dataset.has_files());
        let generated: Vec<&str> = generated.map(|dataset| dataset.name()).collect();
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
        let titles: BTreeSet<String> = named_datasets().map(|dataset| dataset.title()).collect();
        assert_eq!(titles.len(), names.len());
    }
}
