//! A pack is written.

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Crc;
use tempfile::NamedTempFile;

use super::index::{self, PackInfo, PackedSample, SampleInfo};
use super::{MAGIC, NAME, block};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::Events;
use crate::writer::{check, create_beside};
use crate::{EventBuffer, Sensor};

/// A pack that is written sample by sample. It appears under its path at [`Writer::finish`]; without that, nothing is
/// left of it. Memory is that of one sample, and 56 bytes for each sample that was written.
pub struct Writer {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    info: PackInfo,
    samples: Vec<PackedSample>,
    /// The bytes that were written.
    position: u64,
    encoder: SampleEncoder,
}

impl Writer {
    /// A pack of no samples yet.
    ///
    /// # Errors
    /// [`ErrorKind::Write`].
    pub fn create(path: impl AsRef<Path>, info: &PackInfo) -> Result<Self> {
        let path = path.as_ref();
        let file = create_beside(path).and_then(|file| {
            let mut file = BufWriter::new(file);
            file.write_all(&MAGIC)?;
            Ok(file)
        });
        Ok(Self {
            path: path.to_owned(),
            file: file.map_err(|error| Error::from(ErrorKind::Write(error)).in_file(path))?,
            info: info.clone(),
            samples: vec![],
            position: MAGIC.len() as u64,
            encoder: SampleEncoder::new(),
        })
    }

    /// Appends a sample.
    ///
    /// # Errors
    /// [`ErrorKind::Outside`]; [`ErrorKind::Unwritable`] for polarities other than 0 and 1 and columns of unequal length;
    /// both without the sample. [`ErrorKind::Write`]; the file is incomplete then.
    pub fn push(&mut self, events: &EventBuffer, info: SampleInfo) -> Result<()> {
        let encoded = self.encoder.encode(events, self.info.sensor);
        let encoded = encoded.map_err(|kind| Error::from(kind).in_file(&self.path))?;
        self.push_encoded(&encoded, info)
    }

    pub(super) fn push_encoded(&mut self, encoded: &EncodedSample, info: SampleInfo) -> Result<()> {
        let written = self.file.write_all(&encoded.bytes);
        written.map_err(|error| self.write_error(error))?;
        let bytes = encoded.bytes.len() as u64;
        self.samples.push(PackedSample {
            info,
            events: encoded.events,
            offset: self.position,
            bytes,
            checksum: encoded.checksum,
        });
        self.position += bytes;
        Ok(())
    }

    /// The bytes that were written.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Ends the file and makes it appear under its path.
    ///
    /// # Errors
    /// [`ErrorKind::Write`]. A file that was there is unchanged then.
    pub fn finish(mut self) -> Result<()> {
        let mut end = index::encode(&self.info, &self.samples);
        let (len, checksum) = (end.len() as u64, checksum(&end));
        end.extend(len.to_le_bytes());
        end.extend(checksum.to_le_bytes());
        end.extend(MAGIC);
        let written = self.file.write_all(&end);
        written.map_err(|error| self.write_error(error))?;
        let Self { path, file, .. } = self;
        let moved = file.into_inner().map_err(|error| error.into_error());
        let moved = moved.and_then(|file| {
            file.as_file().sync_all()?;
            Ok(file.persist(&path).map(drop)?)
        });
        moved.map_err(|error| Error::from(ErrorKind::Write(error)).in_file(&path))
    }

    fn write_error(&self, error: std::io::Error) -> Error {
        Error::from(ErrorKind::Write(error)).in_file(&self.path)
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path)
            .field("info", &self.info)
            .field("samples", &self.samples.len())
            .finish_non_exhaustive()
    }
}

/// The bytes of a sample.
pub(super) struct EncodedSample {
    pub(super) bytes: Vec<u8>,
    pub(super) events: u64,
    checksum: u32,
}

/// Encodes samples.
pub(super) struct SampleEncoder(block::Encoder);

impl SampleEncoder {
    pub fn new() -> Self {
        Self(block::Encoder::new())
    }

    pub fn encode(
        &mut self,
        events: &EventBuffer,
        sensor: Option<Sensor>,
    ) -> Result<EncodedSample, ErrorKind> {
        check(events, sensor, 0, NAME)?;
        let mut bytes = vec![];
        let all = Events::from(events);
        for start in (0..events.len()).step_by(block::MAX_EVENTS) {
            let end = events.len().min(start + block::MAX_EVENTS);
            self.0.encode(all.part(start..end), &mut bytes);
        }
        Ok(EncodedSample {
            events: events.len() as u64,
            checksum: checksum(&bytes),
            bytes,
        })
    }
}

/// The CRC-32 of bytes.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}
