//! The samples of a data set.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "hdf5")]
use crate::spiking_audio::SpikingAudioFile;
use crate::{EventBuffer, Options, Recording, Sensor};
use spikelet_schema::Schema;

/// The part of a data set that a sample belongs to.
///
/// ```
/// assert_eq!(spikelet_events::Split::Valid.name(), "valid");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Schema)]
pub enum Split {
    /// Training.
    Train,
    /// Validation.
    Valid,
    /// Test.
    Test,
    /// The set has no splits of its own.
    All,
}

/// The part of a file that is a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplePart {
    /// The file.
    File,
    /// The events with `start` ≤ time < `end`, in microseconds.
    Window {
        /// The first time.
        start: i64,
        /// The time after the last.
        end: i64,
    },
    /// A recording of a file of many.
    Index(usize),
}

/// A sample, whose events are not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventSample {
    /// The split.
    pub split: Split,
    /// The file, relative to the folder of the set.
    pub file: PathBuf,
    /// The part of the file.
    pub part: SamplePart,
    /// The class; `None` for recordings with other annotations.
    pub label: Option<u32>,
    /// The speaker of spiking audio, if the file says it.
    pub speaker: Option<i64>,
}

impl EventSample {
    /// A sample that is a file.
    pub(super) fn of_file(split: Split, file: PathBuf, label: Option<u32>) -> Self {
        Self {
            split,
            file,
            part: SamplePart::File,
            label,
            speaker: None,
        }
    }
}

/// The samples of a data set in a folder. Samples of one file that are read one after the other share the opened file.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// for class in ["cat", "dog"] {
///     std::fs::create_dir(folder.path().join(class))?;
///     std::fs::write(folder.path().join(class).join("1.bin"), [3, 7, 0x80, 0, 40])?;
/// }
/// let data = spikelet_events::recording_folder(folder.path(), &Default::default())?;
/// assert_eq!(data.classes(), ["cat", "dog"]);
/// assert_eq!(data.read(1)?.x, [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EventDataset {
    name: String,
    folder: PathBuf,
    sensor: Option<Sensor>,
    classes: Vec<String>,
    samples: Vec<EventSample>,
    options: Options,
    /// The last recording of many samples.
    recording: Mutex<Option<(PathBuf, Arc<Recording>)>>,
    /// The last file of spiking audio.
    #[cfg(feature = "hdf5")]
    audio: Mutex<Option<(PathBuf, SpikingAudioFile)>>,
}

impl EventDataset {
    pub(super) fn new(
        name: &str,
        folder: &Path,
        sensor: Option<Sensor>,
        classes: Vec<String>,
        samples: Vec<EventSample>,
        options: Options,
    ) -> Self {
        Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            sensor,
            classes,
            samples,
            options,
            recording: Mutex::new(None),
            #[cfg(feature = "hdf5")]
            audio: Mutex::new(None),
        }
    }

    /// The name of the set.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The size of the sensor; `None` for own recordings, whose headers say it.
    #[must_use]
    pub fn sensor(&self) -> Option<Sensor> {
        self.sensor
    }

    /// The names of the classes by label; empty without labels.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// All samples: split by split, in the order of the set.
    #[must_use]
    pub fn samples(&self) -> &[EventSample] {
        &self.samples
    }

    /// How files are read.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// The samples of a split.
    ///
    /// # Errors
    /// [`ErrorKind::Layout`] if there are none.
    pub fn indices(&self, split: Split) -> Result<Vec<usize>> {
        let own = |&index: &usize| self.samples[index].split == split;
        let indices: Vec<usize> = (0..self.samples.len()).filter(own).collect();
        if indices.is_empty() {
            let mut splits: Vec<&str> = self.samples.iter().map(|s| s.split.name()).collect();
            splits.dedup();
            return Err(self.layout(
                &format!("samples of the split {}", splits.join(", ")),
                &format!("samples of the split {split}"),
                "add the files of this split, or split one at random by class",
            ));
        }
        Ok(indices)
    }

    /// The error of a folder that lacks something.
    pub(super) fn layout(&self, found: &str, expected: &str, help: &str) -> Error {
        super::walk::unexpected(&self.name, &self.folder, found, expected, help.to_owned())
    }

    /// Reads the events of a sample. Times are those of the file: the first need not be 0.
    ///
    /// Spiking audio has the channel in `x`, times cut to microseconds, and the polarity 1.
    ///
    /// # Errors
    /// [`ErrorKind::NoSample`]; the errors of [`read`](crate::read) and `read_spiking_audio`.
    pub fn read(&self, index: usize) -> Result<EventBuffer> {
        let sample = self.sample(index)?;
        let path = self.folder.join(&sample.file);
        match sample.part {
            SamplePart::File => Ok(crate::read(&path, &self.options)?.events),
            SamplePart::Window { start, end } => {
                Ok(window(&self.recording(path)?.events, start, end))
            }
            #[cfg(feature = "hdf5")]
            SamplePart::Index(at) => self.spikes(path, at),
            #[cfg(not(feature = "hdf5"))]
            SamplePart::Index(_) => {
                let problem = "the crate was built without the feature hdf5".into();
                Err(ErrorKind::UnknownFormat { problem }.into())
            }
        }
    }

    /// The size of the sensor of a sample: that of the set, or what its file says; `None` if it does not.
    ///
    /// # Errors
    /// [`ErrorKind::NoSample`]; the errors of [`open`](crate::open).
    pub fn sensor_of(&self, index: usize) -> Result<Option<Sensor>> {
        if self.sensor.is_some() {
            return Ok(self.sensor);
        }
        let path = self.folder.join(&self.sample(index)?.file);
        let mut reader = crate::open(path, &self.options)?;
        reader.read_block(&mut EventBuffer::default())?;
        Ok(reader.sensor())
    }

    fn sample(&self, index: usize) -> Result<&EventSample> {
        self.samples.get(index).ok_or_else(|| {
            ErrorKind::NoSample {
                set: self.name.clone(),
                index,
                len: self.samples.len(),
            }
            .into()
        })
    }

    /// A recording of many samples.
    fn recording(&self, path: PathBuf) -> Result<Arc<Recording>> {
        let mut opened = self
            .recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((own, recording)) = &*opened
            && *own == path
        {
            return Ok(Arc::clone(recording));
        }
        let recording = Arc::new(crate::read(&path, &self.options)?);
        *opened = Some((path, Arc::clone(&recording)));
        Ok(recording)
    }

    #[cfg(feature = "hdf5")]
    fn spikes(&self, path: PathBuf, at: usize) -> Result<EventBuffer> {
        let mut opened = self.audio.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = match opened.take() {
            Some((own, file)) if own == path => file,
            _ => SpikingAudioFile::open(&path, self.classes.len() as i64)?,
        };
        // The file may have been replaced since it was listed.
        let events = file.events(at, &self.name);
        let events = events.map_err(|error: Error| error.in_file(&path));
        *opened = Some((path, file));
        events
    }
}

/// The events of a window. Times need not be sorted.
fn window(events: &EventBuffer, start: i64, end: i64) -> EventBuffer {
    let mut part = EventBuffer::default();
    for (at, &t) in events.t.iter().enumerate() {
        if start <= t && t < end {
            part.push(t, events.x[at], events.y[at], events.p[at] != 0);
        }
    }
    part
}

impl fmt::Debug for EventDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventDataset")
            .field("name", &self.name)
            .field("folder", &self.folder)
            .field("samples", &self.samples.len())
            .finish_non_exhaustive()
    }
}
