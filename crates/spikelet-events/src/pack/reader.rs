//! A pack is read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::index::{self, PackInfo, PackedSample};
use super::writer::checksum;
use super::{END, MAGIC, block, damaged};
use crate::error::{Error, ErrorKind, Result};
use crate::{EventBuffer, Split};

const NO_PACK: &str = "the file is no pack, or was not copied to its end; pack the data set again";

/// An opened pack. Its samples are read in any order, also by several threads at once.
///
/// Samples are read from the page cache at their position, not through a memory map: a file that another program
/// shortens gives an error, not the end of the process, and no page is read but those of the sample.
#[derive(Debug)]
pub struct Pack {
    path: PathBuf,
    file: File,
    info: PackInfo,
    samples: Vec<PackedSample>,
}

impl Pack {
    /// Opens a pack and reads its index.
    ///
    /// # Errors
    /// [`ErrorKind::Open`], [`ErrorKind::Read`]; [`ErrorKind::Damaged`] if it is no pack, or its index is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let opened = || {
            let file = File::open(path).map_err(ErrorKind::Open)?;
            let len = file.metadata().map_err(ErrorKind::Open)?.len();
            let (info, samples) = read_index(&file, len)?;
            Ok(Self {
                path: path.to_owned(),
                file,
                info,
                samples,
            })
        };
        opened().map_err(|error: Error| error.in_file(path))
    }

    /// Whether a file that begins so is a pack, of any version.
    #[must_use]
    pub fn is_start(start: &[u8]) -> bool {
        start.starts_with(&MAGIC[..7])
    }

    /// The name, the sensor and the classes of the data set.
    #[must_use]
    pub fn info(&self) -> &PackInfo {
        &self.info
    }

    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// All samples, in the order in which they were packed.
    #[must_use]
    pub fn samples(&self) -> &[PackedSample] {
        &self.samples
    }

    /// The samples of a split.
    #[must_use]
    pub fn indices(&self, split: Split) -> Vec<usize> {
        let own = |&index: &usize| self.samples[index].info.split == split;
        (0..self.len()).filter(own).collect()
    }

    /// Appends the events of a sample to `events`.
    ///
    /// # Errors
    /// [`ErrorKind::NoSample`]; [`ErrorKind::Read`]; [`ErrorKind::Damaged`] if the bytes of this sample are not those
    /// that were written. Nothing is appended then, and other samples can be read.
    pub fn read(&self, index: usize, events: &mut EventBuffer) -> Result<()> {
        let before = events.len();
        let read = self.append(index, events);
        read.map_err(|error| {
            events.truncate(before);
            error.in_file(&self.path)
        })
    }

    fn append(&self, index: usize, events: &mut EventBuffer) -> Result<()> {
        let sample = self.samples.get(index).ok_or_else(|| ErrorKind::NoSample {
            set: self.info.name.clone(),
            index,
            len: self.len(),
        })?;
        let damaged = |at: usize, problem: &str| {
            let label = sample.info.label;
            let label = label.map_or(String::new(), |label| format!(", label {label}"));
            let problem = format!("sample {index} ({}{label}): {problem}", sample.info.split);
            let help = "pack the data set again; the other samples can be read";
            damaged(sample.offset + at as u64, problem, help)
        };
        // A block has a bit for each event, so memory is bounded by the bytes.
        if sample.events.div_ceil(8) > sample.bytes {
            let (events, bytes) = (sample.events, sample.bytes);
            return Err(damaged(0, &format!("{events} events in {bytes} bytes")));
        }
        let bytes = read_at(&self.file, sample.offset, sample.bytes as usize)?;
        let found = checksum(&bytes);
        if found != sample.checksum {
            let expected = sample.checksum;
            let problem = format!("the checksum is {found:08x}, not {expected:08x}");
            return Err(damaged(0, &problem));
        }
        events.reserve(sample.events as usize);
        let start = events.len();
        let decoded = block::decode_all(&bytes, events);
        decoded.map_err(|(at, problem)| damaged(at, problem))?;
        let found = (events.len() - start) as u64;
        if found != sample.events {
            let problem = format!("{found} events, not {}", sample.events);
            return Err(damaged(0, &problem));
        }
        Ok(())
    }
}

fn read_index(file: &File, len: u64) -> Result<(PackInfo, Vec<PackedSample>)> {
    let (start, end) = (MAGIC.len() as u64, END as u64);
    if len < start + end {
        let problem = format!(
            "the file has {len} bytes, a pack has at least {}",
            start + end
        );
        return Err(damaged(0, problem, NO_PACK));
    }
    let magic = read_at(file, 0, MAGIC.len())?;
    if !Pack::is_start(&magic) {
        return Err(damaged(
            0,
            "the file does not begin with `SPKPACK`",
            NO_PACK,
        ));
    }
    if magic[7] != MAGIC[7] {
        let problem = format!("the version is {}; this program reads 1", magic[7]);
        return Err(damaged(
            7,
            problem,
            "pack the data set again with this program",
        ));
    }
    let tail = read_at(file, len - end, END)?;
    let (Some((size, rest)), true) = (tail.split_first_chunk(), tail.ends_with(&MAGIC)) else {
        let problem = "the file does not end as a pack";
        return Err(damaged(len - end, problem, NO_PACK));
    };
    let size = u64::from_le_bytes(*size);
    if size > len - start - end {
        let problem = format!("an index of {size} bytes in a file of {len}");
        return Err(damaged(len - end, problem, NO_PACK));
    }
    let offset = len - end - size;
    let bytes = read_at(file, offset, size as usize)?;
    let index = (checksum(&bytes).to_le_bytes() == rest[..4])
        .then(|| index::decode(&bytes, start, offset))
        .flatten();
    index.ok_or_else(|| damaged(offset, "the index is damaged", NO_PACK))
}

/// The `len` bytes at `offset`, which are in the file.
fn read_at(file: &File, offset: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let read = read_exact_at(file, &mut bytes, offset);
    read.map_err(|source| ErrorKind::Read {
        position: offset,
        source,
    })?;
    Ok(bytes)
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        offset += read as u64;
    }
    Ok(())
}
