//! Checks the archives, the files and the recordings of a data set in a folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::verification::{Verification, VerifiedRecordings};
use super::{Checksum, Download, EventDataset, EventSet, SamplePart};
use crate::error::{Error, Result};
#[cfg(feature = "hdf5")]
use crate::spiking_audio::SpikingAudioFile;
use crate::{EventBuffer, Faults};

/// What is verified.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Whether the checksums of archives are computed.
    pub checksums: bool,
    /// Whether all recordings are read.
    pub recordings: bool,
    /// The number of threads; 0: one for each core.
    pub threads: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            checksums: true,
            recordings: true,
            threads: 0,
        }
    }
}

/// How far a verification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyProgress {
    /// The checksum of an archive is computed.
    Checksum {
        /// The name of the archive.
        file: &'static str,
        /// The bytes that were read.
        done: u64,
        /// The bytes of the archive.
        all: u64,
    },
    /// Recordings are read.
    Samples {
        /// The samples that were read.
        done: usize,
        /// All samples.
        all: usize,
    },
}

impl EventSet {
    /// Checks a folder: which archives are there and have the published checksums, how many samples of each split the
    /// unpacked files have, and whether all recordings can be read to their ends.
    ///
    /// Archives are looked for in the folder and in `download` in it. `progress` is called from several threads.
    ///
    /// ```
    /// use spikelet_events::{EventSet, Split, VerifyOptions};
    ///
    /// let folder = tempfile::tempdir()?;
    /// std::fs::create_dir_all(folder.path().join("Train/7"))?;
    /// std::fs::write(folder.path().join("Train/7/00001.bin"), [3, 7, 0x80, 0, 40])?;
    /// let set = EventSet::find("n-mnist").expect("a known set");
    /// let found = set.verify(folder.path(), &VerifyOptions::default(), &|_| {})?;
    /// assert_eq!(found.splits[0], (Split::Train, 1, Some(60_000)));
    /// assert_eq!((found.recordings.events, found.recordings.damaged), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Open`](crate::ErrorKind::Open) and [`ErrorKind::Read`](crate::ErrorKind::Read) of an archive. What is
    /// wrong with recordings is in the result.
    pub fn verify(
        &'static self,
        folder: impl AsRef<Path>,
        options: &VerifyOptions,
        progress: &(dyn Fn(VerifyProgress) + Sync),
    ) -> Result<Verification> {
        let folder = folder.as_ref();
        let mut found = Verification {
            archives: vec![],
            layout: None,
            splits: vec![],
            recordings: VerifiedRecordings::default(),
        };
        if options.checksums {
            for download in self.downloads {
                let checksum = checksum(download, folder, progress)?;
                found.archives.push((download, checksum));
            }
        }
        match self.open(folder) {
            Err(error) => found.layout = Some(error),
            Ok(data) => {
                for &split in self.splits {
                    let own = data.samples().iter().filter(|sample| sample.split == split);
                    found.splits.push((split, own.count(), self.samples(split)));
                }
                if options.recordings {
                    found.recordings = read_all(&data, options.threads, progress);
                }
            }
        }
        Ok(found)
    }
}

/// The checksum of an archive, if it is in the folder.
fn checksum(
    download: &'static Download,
    folder: &Path,
    progress: &(dyn Fn(VerifyProgress) + Sync),
) -> Result<Option<Checksum>> {
    let places = ["", "download"].map(|below| folder.join(below).join(download.file));
    let Some(path) = places.iter().find(|path| path.is_file()) else {
        return Ok(None);
    };
    let file = download.file;
    let checksum = download.check(path, &mut |done, all| {
        progress(VerifyProgress::Checksum { file, done, all });
    });
    checksum.map(Some)
}

/// Reads all samples, file by file, on several threads.
fn read_all(
    data: &EventDataset,
    threads: usize,
    progress: &(dyn Fn(VerifyProgress) + Sync),
) -> VerifiedRecordings {
    let mut files = BTreeMap::<&Path, Vec<SamplePart>>::new();
    for sample in data.samples() {
        files.entry(&sample.file).or_default().push(sample.part);
    }
    let files: Vec<_> = files.into_iter().collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found = Mutex::new(VerifiedRecordings::default());
    let all = data.samples().len();
    let work = || {
        while let Some((file, parts)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let path = data.folder().join(file);
            let own = read_file(data, &path, parts, &|samples| {
                let done = done.fetch_add(samples, Ordering::Relaxed) + samples;
                progress(VerifyProgress::Samples { done, all });
            });
            found
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .add(own);
        }
    };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores() } else { threads };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let path = |error: &Error| error.path.clone().unwrap_or_default();
    found.errors.sort_by_key(path);
    found
}

/// Reads the samples of a file; `report` is called with the number of those that were read since the last call.
fn read_file(
    data: &EventDataset,
    path: &Path,
    parts: &[SamplePart],
    report: &dyn Fn(usize),
) -> VerifiedRecordings {
    let mut found = VerifiedRecordings::default();
    #[cfg(feature = "hdf5")]
    if let [SamplePart::Index(_), ..] = parts {
        read_spikes(data, path, parts, report, &mut found);
        return found;
    }
    let mut counts = vec![0; parts.len()];
    match count_events(data, path, parts, &mut counts, &mut found.faults) {
        Ok(()) => counts
            .into_iter()
            .for_each(|count| found.add_sample(Ok(count))),
        Err(error) => {
            found.damaged = parts.len();
            found.errors.push(error);
        }
    }
    report(parts.len());
    found
}

/// Reads the recordings of a file of spiking audio.
#[cfg(feature = "hdf5")]
fn read_spikes(
    data: &EventDataset,
    path: &Path,
    parts: &[SamplePart],
    report: &dyn Fn(usize),
    found: &mut VerifiedRecordings,
) {
    let mut file = match SpikingAudioFile::open(path, data.classes().len() as i64) {
        Ok(file) => file,
        Err(error) => {
            found.damaged = parts.len();
            found.errors.push(error);
            return report(parts.len());
        }
    };
    // A file that was replaced since it was listed may have fewer.
    let len = file.labels.len().min(parts.len());
    for at in 0..len {
        let spikes = file.recording(at).map(|(times, _)| times.len());
        found.add_sample(spikes.map_err(|error| error.in_file(path)));
        report(1);
    }
}

/// Counts the events of the samples of a recording.
fn count_events(
    data: &EventDataset,
    path: &Path,
    parts: &[SamplePart],
    counts: &mut [usize],
    faults: &mut Faults,
) -> Result<()> {
    let mut reader = crate::open(path, data.options())?;
    let mut events = EventBuffer::default();
    while reader.read_block(&mut events)? {
        for (part, count) in parts.iter().zip(&mut *counts) {
            *count += match part {
                SamplePart::Window { start, end } => {
                    let window = start..end;
                    events.t.iter().filter(|t| window.contains(t)).count()
                }
                _ => events.len(),
            };
        }
        events.clear();
    }
    *faults = reader.faults().clone();
    Ok(())
}
