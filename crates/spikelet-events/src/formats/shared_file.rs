//! A file that is read at several places.

use std::io::{self, Read, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Container, damaged};
use crate::error::{Error, ErrorKind, Result};
use spikelet_weights::arrays::Source;

/// A file from which several columns are read.
#[derive(Clone)]
pub(crate) struct SharedFile {
    file: Arc<Mutex<Box<dyn Container>>>,
    len: u64,
    format: &'static str,
}

impl SharedFile {
    pub fn new(format: &'static str, mut file: Box<dyn Container>) -> Result<Self> {
        let len = file.seek(SeekFrom::End(0)).map_err(|source| {
            let position = 0;
            ErrorKind::Read { position, source }
        })?;
        let file = Arc::new(Mutex::new(file));
        Ok(Self { file, len, format })
    }

    /// The bytes of a part.
    pub fn part(&self, position: u64, len: u64) -> impl Read + Send + use<> {
        let file = self.file.clone();
        FilePart { file, position }.take(len)
    }

    /// An error in the file.
    pub fn damaged(&self, offset: u64, problem: impl Into<String>) -> Error {
        damaged(self.format, offset, problem)
    }
}

impl Source for SharedFile {
    type Error = Error;

    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let is_inside = offset
            .checked_add(len as u64)
            .is_some_and(|end| end <= self.len);
        if !is_inside {
            let problem = format!("{len} bytes are expected, the file has {}", self.len);
            return Err(self.damaged(offset, problem));
        }
        let mut bytes = vec![0; len];
        let read = self.part(offset, len as u64).read_exact(&mut bytes);
        let position = offset;
        read.map_err(|source| ErrorKind::Read { position, source })?;
        Ok(bytes)
    }

    fn invalid(&self, offset: u64, problem: impl Into<String>, help: &'static str) -> Error {
        Error::damaged(self.format, offset, problem, help)
    }
}

struct FilePart {
    file: Arc<Mutex<Box<dyn Container>>>,
    position: u64,
}

impl Read for FilePart {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.position))?;
        let read = file.read(bytes)?;
        self.position += read as u64;
        Ok(read)
    }
}
