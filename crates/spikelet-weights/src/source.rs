//! The bytes of a file, on disk or in memory, at any position.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::arrays::Source;

use crate::error::{Error, ErrorKind, Result};

const HELP: &str = "the file was not copied to its end, or is damaged; get it again";

/// The bytes of a file.
#[derive(Debug)]
pub enum FileSource {
    /// A file and its length.
    File(Mutex<File>, u64),
    /// Bytes in memory.
    Bytes(Vec<u8>),
}

impl FileSource {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(ErrorKind::Open)?;
        let metadata = file.metadata().map_err(ErrorKind::Open)?;
        if metadata.is_dir() {
            return Err(ErrorKind::Open(io::ErrorKind::IsADirectory.into()).into());
        }
        Ok(Self::File(Mutex::new(file), metadata.len()))
    }

    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::File(_, len) => *len,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills a buffer with the bytes at a position.
    pub fn fill(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(file, _) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(buffer)
            }
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = bytes.get(start..).unwrap_or(&[]);
                let part = rest.get(..buffer.len());
                buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// At most `len` bytes at a position.
    pub fn start(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let left = self.len().saturating_sub(offset);
        self.read(offset, len.min(usize::try_from(left).unwrap_or(len)))
    }

    /// A reader of `len` bytes from a position on.
    pub fn part(&self, offset: u64, len: u64) -> impl Read {
        let end = offset.saturating_add(len).min(self.len());
        Part {
            source: self,
            position: offset,
            end,
        }
    }
}

impl Source for FileSource {
    type Error = Error;

    fn len(&self) -> u64 {
        Self::len(self)
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let end = offset.checked_add(len as u64);
        if end.is_none_or(|end| end > self.len()) {
            let problem = format!("{len} bytes are expected here; the file has {}", self.len());
            return Err(self.invalid(offset, problem, HELP));
        }
        let mut bytes = vec![0; len];
        self.fill(offset, &mut bytes).map_err(ErrorKind::Read)?;
        Ok(bytes)
    }

    fn invalid(&self, offset: u64, problem: impl Into<String>, _: &'static str) -> Error {
        ErrorKind::Damaged {
            format: "file",
            place: format!("byte {offset}"),
            problem: problem.into(),
            help: HELP,
        }
        .into()
    }
}

struct Part<'a> {
    source: &'a FileSource,
    position: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let len = buffer.len().min(left);
        self.source.fill(self.position, &mut buffer[..len])?;
        self.position += len as u64;
        Ok(len)
    }
}
