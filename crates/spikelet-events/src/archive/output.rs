//! The folder into which an archive is unpacked.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{HELP, Unpacked};
use crate::error::{Error, ErrorKind, Result};
use crate::writer::create_in;

/// How many times larger an archive may become.
const MAX_EXPANSION: u64 = 200;

/// The bytes that any archive may have.
const MIN_LIMIT: u64 = 64 << 20;

/// The longest path of a member.
const MAX_PATH: usize = 1024;

/// The longest name of a file or folder.
const MAX_NAME: usize = 255;

/// A member of an archive, for errors.
pub(super) struct MemberPlace<'a> {
    pub format: &'static str,
    pub name: &'a str,
    /// Its position in the archive.
    pub offset: u64,
}

impl MemberPlace<'_> {
    pub fn error(&self, problem: &str) -> Error {
        let problem = format!("the member `{}` {problem}", self.name.escape_debug());
        Error::damaged(self.format, self.offset, problem, HELP)
    }
}

/// An archive whose bytes are counted as they are read.
pub(super) struct Counted {
    file: File,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(bytes)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Seek for Counted {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

/// The folder, the limit and the progress of an archive.
pub(super) struct Output<'a> {
    folder: &'a Path,
    /// The folder that exists.
    made: Option<PathBuf>,
    /// The bytes that may still be written.
    left: u64,
    /// The bytes of the archive, and of those that were read.
    len: u64,
    read: Arc<AtomicU64>,
    progress: &'a mut dyn FnMut(u64, u64),
    buffer: Vec<u8>,
    pub unpacked: Unpacked,
}

impl<'a> Output<'a> {
    /// The folder for an archive of `len` bytes.
    pub fn new(folder: &'a Path, len: u64, progress: &'a mut dyn FnMut(u64, u64)) -> Self {
        Self {
            folder,
            made: None,
            left: len.saturating_mul(MAX_EXPANSION).max(MIN_LIMIT),
            len,
            read: Arc::default(),
            progress,
            buffer: vec![0; 1 << 16],
            unpacked: Unpacked::default(),
        }
    }

    /// The most bytes that the archive may become.
    pub fn limit(&self) -> u64 {
        self.left
    }

    /// The archive, whose progress is reported.
    pub fn counted(&self, file: File) -> Counted {
        let count = Arc::clone(&self.read);
        Counted { file, count }
    }

    /// Writes a member of `len` bytes, or of all that there are.
    pub fn write(
        &mut self,
        path: &Path,
        content: &mut dyn Read,
        len: Option<u64>,
        place: &MemberPlace<'_>,
    ) -> Result<()> {
        let path = self.folder.join(path);
        let failed = |error| Error::from(ErrorKind::Write(error)).in_file(&path);
        self.make_folder(&path).map_err(failed)?;
        // Not beside the member: what a killed process leaves is found in one place.
        let mut file = create_in(self.folder).map_err(failed)?;
        let write = |bytes: &[u8]| file.write_all(bytes).map_err(failed);
        self.unpacked.bytes += self.copy(content, len, place, write)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        self.unpacked.files += 1;
        Ok(())
    }

    /// A member of `len` bytes as a file without a name.
    pub fn temporary(
        &mut self,
        content: &mut dyn Read,
        len: u64,
        place: &MemberPlace<'_>,
    ) -> Result<File> {
        let folder = self.folder;
        let failed = |error| Error::from(ErrorKind::Write(error)).in_file(folder);
        let made = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
        let mut file = made.map_err(failed)?;
        let write = |bytes: &[u8]| file.write_all(bytes).map_err(failed);
        self.copy(content, Some(len), place, write)?;
        Ok(file)
    }

    /// Copies a member; gives its bytes.
    fn copy(
        &mut self,
        content: &mut dyn Read,
        len: Option<u64>,
        place: &MemberPlace<'_>,
        mut write: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<u64> {
        let most = len.unwrap_or(self.left).min(self.left);
        let mut copied = 0;
        loop {
            // The end of a member of known length is read too: its checksum is compared there.
            let read = match content.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(place.error(&format!("is damaged: {error}"))),
                Ok(read) => read,
            };
            copied += read as u64;
            if copied > self.left {
                let problem = "makes the archive 200 times as large, which recordings do not";
                return Err(place.error(problem));
            }
            if copied > most || (read == 0 && len.is_some_and(|len| len != copied)) {
                let problem = format!("does not have the {most} bytes that it announces");
                return Err(place.error(&problem));
            }
            if read == 0 {
                self.left -= copied;
                return Ok(copied);
            }
            write(&self.buffer[..read])?;
            let read = self.read.load(Ordering::Relaxed).min(self.len);
            (self.progress)(read, self.len);
        }
    }

    fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(self.folder);
        if self.made.as_deref() != Some(folder) {
            fs::create_dir_all(folder)?;
            self.made = Some(folder.to_owned());
        }
        Ok(())
    }
}

/// The path of a member below the folder; `None` for members that are not unpacked: folders and additions of macOS.
pub(super) fn member_path(place: &MemberPlace<'_>) -> Result<Option<PathBuf>> {
    let name = place.name;
    if name.ends_with('/') {
        return Ok(None);
    }
    // Windows takes these as separators and drives.
    let is_other = |character: char| matches!(character, '\\' | ':') || character.is_control();
    if name.is_empty() || name.len() > MAX_PATH || name.contains(is_other) {
        return Err(place.error("has a name that is no path of a file"));
    }
    let mut path = PathBuf::new();
    for component in Path::new(name).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) if part == "__MACOSX" => return Ok(None),
            Component::Normal(part) if part.len() <= MAX_NAME => path.push(part),
            Component::Normal(_) => return Err(place.error("has a name that is too long")),
            _ => return Err(place.error("leads out of the folder")),
        }
    }
    match path.as_os_str().is_empty() {
        true => Err(place.error("has a name that is no path of a file")),
        false => Ok(Some(path)),
    }
}
