//! Spiking audio: the HDF5 files of SHD and SSC.
//!
//! ```text
//! /spikes/times   variable-length floats, an element for each recording: seconds
//! /spikes/units   variable-length u16: channels of the cochlea, 0 … 699
//! /labels         integers, one for each recording
//! /extra/speaker  integers; not in all files
//! ```
//!
//! Source: B. Cramer et al., The Heidelberg spiking data sets for the systematic evaluation of spiking neural networks,
//! 2020.

mod heaps;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use self::heaps::{Heaps, REFERENCE};
use crate::EventBuffer;
use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "h5";

/// The most recordings for a byte of the file: references may be compressed.
const MAX_PER_BYTE: u64 = 8;

/// All recordings of a file.
///
/// The spikes of recording `k` are those at `offsets[k] .. offsets[k + 1]`, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpikingAudio {
    /// The first spike of each recording, and the number of all spikes.
    pub offsets: Vec<i64>,
    /// Times in seconds. They may not be sorted.
    pub times: Vec<f32>,
    /// Channels of the cochlea, below 700.
    pub units: Vec<u16>,
    /// The class of each recording.
    pub labels: Vec<i64>,
    /// The speaker of each recording, if the file says it.
    pub speakers: Option<Vec<i64>>,
}

/// Reads a file of SHD or SSC, whose labels are below `classes` (20 and 35).
///
/// # Errors
/// [`ErrorKind::Open`], [`ErrorKind::Read`]; [`ErrorKind::Damaged`] if it is no HDF5 file, a data set is missing, or a
/// recording has unequal numbers of times and units, units above 699, times that are no numbers, or another label.
pub fn read_spiking_audio(path: impl AsRef<Path>, classes: i64) -> Result<SpikingAudio> {
    let path = path.as_ref();
    let open = SpikingAudioFile::open(path, classes)?;
    open.read_all().map_err(|error| error.in_file(path))
}

/// The number of classes that a file names in `extra/keys`, as those of SHD and SSC do; `None` without.
///
/// # Errors
/// [`ErrorKind::Open`], [`ErrorKind::Damaged`] if it is no HDF5 file.
pub fn spiking_audio_classes(path: impl AsRef<Path>) -> Result<Option<i64>> {
    let path = path.as_ref();
    let opened = File::open(path).map_err(|error| Error::from(ErrorKind::Open(error)));
    let read = opened.and_then(|mut file| hdf5(path, &mut file));
    let hdf5 = read.map_err(|error| error.in_file(path))?;
    let shape = hdf5.dataset("extra/keys").and_then(|keys| keys.shape());
    Ok(match shape.as_deref() {
        Ok(&[count]) => i64::try_from(count).ok(),
        _ => None,
    })
}

/// Reads a recording of a file of SHD or SSC: the channel in `x`, times cut to microseconds, and the polarity 1.
///
/// # Errors
/// [`ErrorKind::NoSample`]; those of [`read_spiking_audio`].
pub fn read_spiking_recording(path: impl AsRef<Path>, index: usize) -> Result<EventBuffer> {
    let path = path.as_ref();
    let mut open = SpikingAudioFile::open(path, i64::MAX)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let events = open.events(index, &name);
    events.map_err(|error| error.in_file(path))
}

/// A file whose recordings are read on demand.
pub(crate) struct SpikingAudioFile {
    /// The class of each recording.
    pub labels: Vec<i64>,
    /// The speaker of each recording, if the file says it.
    pub speakers: Option<Vec<i64>>,
    /// The references of `spikes/times`.
    times: Vec<[u8; REFERENCE]>,
    /// The references of `spikes/units`.
    units: Vec<[u8; REFERENCE]>,
    heaps: Heaps,
}

impl SpikingAudioFile {
    /// Reads all but the spikes.
    pub fn open(path: &Path, classes: i64) -> Result<Self> {
        open(path, classes).map_err(|error| error.in_file(path))
    }

    fn read_all(mut self) -> Result<SpikingAudio> {
        let mut audio = SpikingAudio {
            offsets: vec![0],
            ..SpikingAudio::default()
        };
        for (at, reference) in self.times.iter().enumerate() {
            let values = self.heaps.values(reference, at)?;
            values.append_times(&mut audio.times)?;
            audio.offsets.push(audio.times.len() as i64);
        }
        for (at, reference) in self.units.iter().enumerate() {
            let values = self.heaps.values(reference, at)?;
            let times = audio.offsets[at + 1] - audio.offsets[at];
            values.append_units(times as usize, &mut audio.units)?;
        }
        audio.labels = self.labels;
        audio.speakers = self.speakers;
        Ok(audio)
    }

    /// The events of a recording of the set or file `of`.
    pub fn events(&mut self, index: usize, of: &str) -> Result<EventBuffer> {
        let len = self.labels.len();
        if index >= len {
            let set = of.to_owned();
            return Err(ErrorKind::NoSample { set, index, len }.into());
        }
        let (times, units) = self.recording(index)?;
        let microseconds = |time: f32| (f64::from(time) * 1e6) as i64;
        Ok(EventBuffer {
            t: times.into_iter().map(microseconds).collect(),
            y: vec![0; units.len()],
            p: vec![1; units.len()],
            x: units,
        })
    }

    /// The times in seconds and the units of a recording, which exists.
    pub fn recording(&mut self, at: usize) -> Result<(Vec<f32>, Vec<u16>)> {
        let (mut times, mut units) = (vec![], vec![]);
        self.heaps.allow_all();
        let values = self.heaps.values(&self.times[at], at)?;
        values.append_times(&mut times)?;
        let values = self.heaps.values(&self.units[at], at)?;
        values.append_units(times.len(), &mut units)?;
        Ok((times, units))
    }
}

/// An error in a data set, whose position is not known.
fn damaged(problem: impl Into<String>) -> Error {
    damaged_at(0, problem)
}

fn damaged_at(position: u64, problem: impl Into<String>) -> Error {
    crate::formats::damaged(NAME, position, problem)
}

fn hdf5(path: &Path, file: &mut File) -> Result<hdf5_pure::File> {
    let mut start = [0; 4];
    let _ = file.read(&mut start).map_err(read_error(0))?;
    if start.starts_with(b"PK") || start.starts_with(&[0x1f, 0x8b]) {
        let problem = "this is an archive, not an HDF5 file: unpack it first";
        return Err(damaged(problem));
    }
    hdf5_pure::File::open(path)
        .map_err(|error| damaged(format!("this is not a whole HDF5 file: {error}")))
}

fn open(path: &Path, classes: i64) -> Result<SpikingAudioFile> {
    let mut file = File::open(path).map_err(ErrorKind::Open)?;
    let hdf5 = hdf5(path, &mut file)?;
    let len = file.seek(SeekFrom::End(0)).map_err(read_error(0))?;
    let data_set = |name: &str| -> Result<hdf5_pure::Dataset> {
        let found = hdf5.dataset(name);
        let data_set =
            found.map_err(|error| damaged(format!("the data set {name} is missing: {error}")))?;
        let shape = data_set
            .shape()
            .map_err(|error| damaged(format!("{name}: {error}")))?;
        match shape[..] {
            [rows] if rows <= len.saturating_mul(MAX_PER_BYTE) => Ok(data_set),
            _ => Err(damaged(format!(
                "the data set {name} has the shape {shape:?} in a file of {len} bytes"
            ))),
        }
    };
    let integers = |name: &str| -> Result<Vec<i64>> {
        let values = data_set(name)?.read_i64();
        values.map_err(|error| damaged(format!("{name}: {error}")))
    };
    let references = |name: &str| -> Result<Vec<u8>> {
        let bytes = data_set(name)?.read_raw();
        bytes.map_err(|error| damaged(format!("{name}: {error}")))
    };
    let (times, units) = (references("spikes/times")?, references("spikes/units")?);
    let labels = integers("labels")?;
    let speakers = match hdf5.dataset("extra/speaker") {
        Ok(_) => Some(integers("extra/speaker")?),
        Err(_) => None,
    };
    let (times, rest) = times.as_chunks::<REFERENCE>();
    let (units, other_rest) = units.as_chunks::<REFERENCE>();
    if !rest.is_empty() || !other_rest.is_empty() {
        let problem = "spikes/times or spikes/units has no elements of variable length";
        return Err(damaged(problem));
    }
    let lens = [
        units.len(),
        labels.len(),
        speakers.as_ref().map_or(times.len(), Vec::len),
    ];
    if lens.iter().any(|&len| len != times.len()) {
        let problem = format!(
            "spikes/times has {} recordings, spikes/units {}, labels {}, extra/speaker {}",
            times.len(),
            lens[0],
            lens[1],
            lens[2]
        );
        return Err(damaged(problem));
    }
    let outside = |label: &i64| !(0..classes).contains(label);
    if let Some(at) = labels.iter().position(outside) {
        let label = labels[at];
        let problem = match label < 0 {
            true => format!("recording {at} has the label {label} < 0"),
            false => format!("recording {at} has the label {label} >= {classes}, the classes"),
        };
        let help =
            "correct the label, or give the number of classes: `spikelet data info --classes`";
        return Err(Error::damaged(NAME, 0, problem, help));
    }
    let base = hdf5.superblock().base_address.get();
    let heaps = Heaps::new(file, len, base);
    Ok(SpikingAudioFile {
        labels,
        speakers,
        times: times.to_vec(),
        units: units.to_vec(),
        heaps,
    })
}

fn read_error(position: u64) -> impl Fn(std::io::Error) -> Error {
    move |source| ErrorKind::Read { position, source }.into()
}
