//! Members of zip files.

use std::io::{self, Read};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::columns::Place;
use super::shared_file::SharedFile;
use crate::error::Result;
use spikelet_weights::arrays::zip;

/// A member of a zip file, whose checksum is compared at its end.
pub(crate) struct Member {
    /// Where its bytes are.
    pub place: Place,
    bytes: Box<dyn Read + Send>,
    left: u64,
    crc: Crc,
    expected: u32,
}

impl Member {
    pub fn open(file: &SharedFile, entry: &zip::Entry) -> Result<Self> {
        let place = Place {
            position: zip::data_offset(file, entry)?,
            is_plain: entry.stored,
        };
        let part = file.part(place.position, entry.compressed);
        let bytes: Box<dyn Read + Send> = match entry.stored {
            true => Box::new(part),
            false => Box::new(DeflateDecoder::new(part)),
        };
        Ok(Self {
            place,
            bytes,
            left: entry.uncompressed,
            crc: Crc::new(),
            expected: entry.crc,
        })
    }
}

impl Read for Member {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = bytes
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.bytes.read(&mut bytes[..most])?;
        self.crc.update(&bytes[..read]);
        self.left -= read as u64;
        if read > 0 && self.left == 0 && self.crc.sum() != self.expected {
            let problem = "its checksum is wrong";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(read)
    }
}
