//! Data sets of sequences by name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dataset::Dataset;
use crate::device_frames::DeviceFrames;
use crate::error::{Error, Result};
use crate::lines::first_names;
use crate::progress::Progress;

/// A data set of sequences in files.
///
/// Every sample has the field `x`, `[T, C]`, and the field `labels`. A batch has them as `[T, N, C]` and, for
/// [`SequenceLabels`], `[N]` or `[T, N]`. Frames have three axes instead of C.
///
/// ```no_run
/// let entries = spikelet_data::entries();
/// let entry = entries.iter().find(|entry| entry.name == "fsdd").expect("it is known");
/// let source = entry.sequences().expect("it has sequences");
/// let split = source.load("data", Some("held-out-theo"))?;
/// assert_eq!(split.test.len(), 450);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SequenceSource {
    /// The name of the data set in checkpoints.
    pub name: String,
    /// The name of each class.
    pub classes: Vec<String>,
    /// The number of time steps T of a sequence; the largest, if it varies.
    pub steps: usize,
    /// Whether sequences may be shorter. Then they are filled up with zeros, and a batch has `x_length`, i64 `[N]`.
    pub varies: bool,
    /// The shape of a time step; `None` if only the files of one's own recordings say it.
    pub shape: Option<StepShape>,
    /// The number of labels of a sequence.
    pub labels: SequenceLabels,
    /// The names of its splits; the first is the default.
    pub splits: Vec<String>,
    /// Reads a split, which is one of [`Self::splits`], from a folder.
    pub(crate) read: Reader,
}

/// The function that reads a split from a folder.
#[derive(Clone)]
pub(crate) struct Reader(Arc<ReadSplit>);

type ReadSplit = dyn Fn(&Path, &str, Progress) -> Result<SequenceSplit> + Send + Sync;

impl Reader {
    pub fn new(
        read: impl Fn(&Path, &str, Progress) -> Result<SequenceSplit> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(read))
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

/// The shape of a time step of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepShape {
    /// A number of features.
    Features(usize),
    /// Channels, height and width of a frame.
    Frame([usize; 3]),
}

impl StepShape {
    /// The sizes of the axes.
    ///
    /// ```
    /// use spikelet_data::StepShape;
    /// assert_eq!(StepShape::Frame([2, 34, 34]).sizes(), [2, 34, 34]);
    /// ```
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        match self {
            Self::Features(features) => std::slice::from_ref(features),
            Self::Frame(sizes) => sizes,
        }
    }

    /// The shape of these sizes, of one axis or of three.
    #[must_use]
    pub fn of(sizes: &[usize]) -> Option<Self> {
        match *sizes {
            [features] => Some(Self::Features(features)),
            [channels, height, width] => Some(Self::Frame([channels, height, width])),
            _ => None,
        }
    }
}

/// As in messages: `140 features`, `frames of 2 × 34 × 34`.
impl fmt::Display for StepShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features(features) => write!(f, "{features} features"),
            Self::Frame([channels, height, width]) => {
                write!(f, "frames of {channels} × {height} × {width}")
            }
        }
    }
}

/// The number of labels of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SequenceLabels {
    /// One label for each sequence: `labels` is an i64, `[N]` in a batch.
    Sequence,
    /// One label for each time step: `labels` is i64 `[T]`, `[T, N]` in a batch.
    Step {
        /// The label of time steps without a class.
        unlabeled: i64,
        /// The class as which published accuracies count these steps; `None` if they leave them out.
        counted_as: Option<i64>,
    },
}

/// The parts of a data set of sequences: samples with the fields `x`, `[T, C]`, and `labels`.
#[derive(Clone, Debug)]
pub struct SequenceSplit {
    /// The number of labels of a sequence.
    pub labels: SequenceLabels,
    /// Set where samples have the field `events` in place of `x`, of which the device makes the frames.
    pub device_frames: Option<DeviceFrames>,
    /// The training samples.
    pub train: Arc<dyn Dataset>,
    /// The samples that select the best epoch; `None` if the data set does not define them. See
    /// [`split`](crate::split()).
    pub validation: Option<Arc<dyn Dataset>>,
    /// The test samples.
    pub test: Arc<dyn Dataset>,
}

impl SequenceSource {
    /// The names of the splits in words: the first eight, and how many others there are.
    #[must_use]
    pub fn split_names(&self) -> String {
        first_names(&self.splits)
    }

    /// Reads a split from the data folder `dir`; the default one for `None`.
    ///
    /// # Errors
    /// [`Error::UnknownSplit`]; [`Error::NoFiles`] if there are no files; the errors of the module of the data set.
    pub fn load(&self, dir: impl AsRef<Path>, split: Option<&str>) -> Result<SequenceSplit> {
        self.load_showing(dir, split, Progress::Quiet)
    }

    /// As [`Self::load`]; shows the progress of encodings, which take a minute or two at the first start.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_showing(
        &self,
        dir: impl AsRef<Path>,
        split: Option<&str>,
        progress: Progress,
    ) -> Result<SequenceSplit> {
        let default = self.splits.first().map_or("", String::as_str);
        let split = split.unwrap_or(default);
        if !self.splits.iter().any(|known| known == split) {
            return Err(Error::UnknownSplit {
                dataset: self.name.clone(),
                given: split.into(),
                known: self.splits.clone(),
            });
        }
        (self.read.0)(dir.as_ref(), split, progress)
    }
}

/// `dir` and its subfolders `folders`; `""` is `dir` itself.
pub(crate) fn folders(dir: &Path, folders: &[&str]) -> Vec<PathBuf> {
    let below = |folder: &&str| match folder.is_empty() {
        true => dir.to_owned(),
        false => dir.join(folder),
    };
    folders.iter().map(below).collect()
}

/// The first of `names` that is a file in one of these folders.
pub(crate) fn find_file(folders: &[PathBuf], names: &[&str]) -> Option<PathBuf> {
    let paths = |folder: &PathBuf| {
        names
            .iter()
            .map(|name| folder.join(name))
            .collect::<Vec<_>>()
    };
    folders.iter().flat_map(paths).find(|path| path.is_file())
}

/// An error in the arrays of a file.
pub(crate) fn wrong_arrays(path: &Path, problem: impl Into<String>) -> Error {
    Error::Format {
        path: path.to_owned(),
        offset: 0,
        problem: problem.into(),
        help: "this is another data set's file, or it is damaged; get it again",
    }
}
