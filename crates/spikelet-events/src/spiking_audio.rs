//! Spiking audio: the HDF5 files of SHD and SSC.
//!
//! ```text
//! /spikes/times   variable-length floats, an element for each recording: seconds
//! /spikes/units   variable-length u16: channels of the cochlea, 0 … 699
//! /labels         integers, one for each recording
//! /extra/speaker  integers; not in all files
//! ```
//!
//! An element of a variable-length data set is a reference: the number of values u32, the position of a global heap
//! u64, the number of an object in it u32. A heap is `GCOL`, 4 bytes, its size u64, then objects: number u16, 6 bytes,
//! length u64, data, padded to 8 bytes.
//!
//! Source: B. Cramer et al., The Heidelberg spiking data sets for the systematic evaluation of spiking neural networks,
//! 2020; The HDF Group, *HDF5 File Format Specification*, section III.E.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use half::f16;

use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "h5";

/// The number of channels of the cochlea.
const CHANNELS: u16 = 700;

/// The bytes of a reference.
const REFERENCE: usize = 16;

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
    read(path, classes).map_err(|error| error.in_file(path))
}

fn damaged(problem: impl Into<String>) -> Error {
    super::formats::damaged(NAME, 0, problem)
}

fn read(path: &Path, classes: i64) -> Result<SpikingAudio> {
    let mut file = File::open(path).map_err(ErrorKind::Open)?;
    let mut start = [0; 4];
    let _ = file.read(&mut start).map_err(read_error(0))?;
    if start.starts_with(b"PK") || start.starts_with(&[0x1f, 0x8b]) {
        let problem = "this is an archive, not an HDF5 file: unpack it first";
        return Err(damaged(problem));
    }
    let len = file.seek(SeekFrom::End(0)).map_err(read_error(0))?;
    let hdf5 = hdf5_pure::File::open(path)
        .map_err(|error| damaged(format!("this is not a whole HDF5 file: {error}")))?;
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
    let base = hdf5.superblock().base_address.get();
    let mut heaps = Heaps {
        file,
        len,
        base,
        position: u64::MAX,
        heap: vec![],
        objects: HashMap::new(),
        left: len,
    };
    let mut audio = SpikingAudio {
        offsets: vec![0],
        labels,
        speakers,
        ..SpikingAudio::default()
    };
    for (at, reference) in times.iter().enumerate() {
        let (count, bytes) = heaps.object(reference, at)?;
        append_times(count, bytes, at, &mut audio.times)?;
        audio.offsets.push(audio.times.len() as i64);
    }
    for (at, reference) in units.iter().enumerate() {
        let (count, bytes) = heaps.object(reference, at)?;
        let expected = audio.offsets[at + 1] - audio.offsets[at];
        if count as i64 != expected {
            let problem = format!("recording {at} has {expected} times and {count} units");
            return Err(damaged(problem));
        }
        append_units(count, bytes, at, &mut audio.units)?;
    }
    let outside = |label: &i64| !(0..classes).contains(label);
    if let Some(at) = audio.labels.iter().position(outside) {
        let label = audio.labels[at];
        return Err(damaged(format!(
            "recording {at} has the label {label} >= {classes}"
        )));
    }
    Ok(audio)
}

fn read_error(position: u64) -> impl Fn(std::io::Error) -> Error {
    move |source| ErrorKind::Read { position, source }.into()
}

/// Appends the times of a recording, of 2, 4 or 8 bytes each.
fn append_times(count: usize, bytes: &[u8], at: usize, out: &mut Vec<f32>) -> Result<()> {
    let before = out.len();
    match bytes.len().checked_div(count).unwrap_or(0) {
        0 if count == 0 => {}
        2 => out.extend(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|&time| f16::from_le_bytes(time).to_f32()),
        ),
        4 => out.extend(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|&time| f32::from_le_bytes(time)),
        ),
        8 => out.extend(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|&time| f64::from_le_bytes(time) as f32),
        ),
        _ => {
            let problem = format!("recording {at}: {count} times in {} bytes", bytes.len());
            return Err(damaged(problem));
        }
    }
    match out[before..].iter().find(|time| !time.is_finite()) {
        Some(time) => Err(damaged(format!("recording {at} has the time {time}"))),
        None => Ok(()),
    }
}

fn append_units(count: usize, bytes: &[u8], at: usize, out: &mut Vec<u16>) -> Result<()> {
    if bytes.len() != 2 * count {
        let problem = format!(
            "recording {at}: {count} units in {} bytes; u16 is expected",
            bytes.len()
        );
        return Err(damaged(problem));
    }
    let before = out.len();
    out.extend(
        bytes
            .as_chunks()
            .0
            .iter()
            .map(|&unit| u16::from_le_bytes(unit)),
    );
    match out[before..].iter().find(|&&unit| unit >= CHANNELS) {
        Some(unit) => Err(damaged(format!(
            "recording {at} has the unit {unit} >= {CHANNELS}"
        ))),
        None => Ok(()),
    }
}

/// The global heaps of a file, of which one is in memory.
struct Heaps {
    file: File,
    len: u64,
    /// The position of address 0.
    base: u64,
    position: u64,
    heap: Vec<u8>,
    objects: HashMap<u32, Range<usize>>,
    /// The bytes that objects may still have: an object belongs to one recording.
    left: u64,
}

impl Heaps {
    /// The number of values and the bytes of recording `at`.
    fn object(&mut self, reference: &[u8; REFERENCE], at: usize) -> Result<(usize, &[u8])> {
        let [a, b, c, d, position @ .., e, f, g, h] = *reference;
        let count = u32::from_le_bytes([a, b, c, d]);
        let (position, number) = (
            u64::from_le_bytes(position),
            u32::from_le_bytes([e, f, g, h]),
        );
        if count == 0 {
            return Ok((0, &[]));
        }
        let position = position.saturating_add(self.base);
        if position != self.position {
            self.load(position, at)?;
        }
        let range = self.objects.get(&number).cloned();
        let range = range.ok_or_else(|| damaged(format!("recording {at} is not in its heap")))?;
        self.left = self
            .left
            .checked_sub(range.len() as u64)
            .ok_or_else(|| damaged("the recordings have more bytes than the file: they overlap"))?;
        Ok((count as usize, &self.heap[range]))
    }

    /// Reads a heap.
    fn load(&mut self, position: u64, at: usize) -> Result<()> {
        let damaged = || damaged(format!("recording {at}: no heap at byte {position}"));
        let mut head = [0; 16];
        if position.checked_add(16).is_none_or(|end| end > self.len) {
            return Err(damaged());
        }
        let seek = self.file.seek(SeekFrom::Start(position));
        seek.map_err(read_error(position))?;
        self.file
            .read_exact(&mut head)
            .map_err(read_error(position))?;
        let [b'G', b'C', b'O', b'L', 1, _, _, _, size @ ..] = head else {
            return Err(damaged());
        };
        let size = u64::from_le_bytes(size);
        if size < 16 || size > self.len - position {
            return Err(damaged());
        }
        self.position = u64::MAX;
        self.heap.resize((size - 16) as usize, 0);
        self.file
            .read_exact(&mut self.heap)
            .map_err(read_error(position))?;
        self.objects.clear();
        let mut at = 0;
        while let Some(object) = self.heap.get(at..at + 16) {
            let number = u16::from_le_bytes([object[0], object[1]]);
            let mut len = [0; 8];
            len.copy_from_slice(&object[8..]);
            let len = usize::try_from(u64::from_le_bytes(len)).unwrap_or(usize::MAX);
            let begin = at + 16;
            // Number 0 is the free space at the end.
            if number == 0 {
                break;
            }
            if len > self.heap.len() - begin {
                return Err(damaged());
            }
            self.objects.insert(number.into(), begin..begin + len);
            at = begin + len.next_multiple_of(8);
        }
        self.position = position;
        Ok(())
    }
}
