//! Files that appear complete or not at all.

use super::{FileError, SUFFIX, create_folder};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file that is written in pieces, in any order, and appears under its path when it is complete. Dropped before
/// that, it leaves nothing.
///
/// ```
/// # use spikelet_core::files::AtomicFile;
/// # use std::io::{Seek, SeekFrom, Write};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("values");
/// let mut file = AtomicFile::create(&path)?;
/// file.file_mut().seek(SeekFrom::Start(2))?;
/// file.file_mut().write_all(b"cd")?;
/// file.file_mut().seek(SeekFrom::Start(0))?;
/// file.file_mut().write_all(b"ab")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"abcd");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: tempfile::NamedTempFile,
}

impl AtomicFile {
    /// An empty file that will be at `path`. Missing parent folders are created.
    ///
    /// # Errors
    /// [`FileError::Io`] with the path.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let name = path.file_name().ok_or_else(|| {
            FileError::io("write", path)(io::Error::new(
                ErrorKind::IsADirectory,
                "the path does not end in a file name",
            ))
        })?;
        let folder = folder_of(path);
        create_folder(folder)?;

        // In the same folder, because a rename is atomic only within one file system.
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(SUFFIX);
        #[cfg(unix)]
        {
            // Temporary files are private by default; this one becomes a regular file, for which the umask applies.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let temporary = builder
            .tempfile_in(folder)
            .map_err(FileError::io("create a file beside", path))?;
        // Tells `remove_abandoned` that its writer lives. Some file systems have no locks.
        let _ = temporary.as_file().try_lock();
        Ok(Self {
            path: path.to_path_buf(),
            temporary,
        })
    }

    /// The path that it will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, which is open for reading and writing. Writes are not buffered.
    pub fn file_mut(&mut self) -> &mut File {
        self.temporary.as_file_mut()
    }

    /// Makes the file appear under its path, durably. A file that was there is replaced.
    ///
    /// # Errors
    /// [`FileError::Io`] with the path. An old file is unchanged then.
    pub fn commit(self) -> Result<(), FileError> {
        let Self { path, temporary } = self;
        temporary
            .as_file()
            .sync_all()
            .map_err(FileError::io("write", &path))?;
        temporary
            .persist(&path)
            .map_err(|error| FileError::io("replace", &path)(error.error))?;
        sync_folder(folder_of(&path))
    }
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes a rename in `folder` durable.
fn sync_folder(folder: &Path) -> Result<(), FileError> {
    // Not needed on Windows, where folders cannot be opened like files.
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(FileError::io("write", folder))?;
    }
    Ok(())
}

/// Writes `bytes` to `path` atomically: readers, also after a crash, find either the complete old content or the
/// complete new content. Missing parent folders are created.
///
/// ```
/// # use spikelet_core::files::write_atomically;
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// write_atomically(folder.join("runs/1/config.json"), b"{}")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FileError::Io`] with the path. An old file is unchanged then.
pub fn write_atomically(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), FileError> {
    write_atomically_with(path, |file| file.write_all(bytes))
}

/// As [`write_atomically`], for content that is written in pieces. Writes are buffered.
///
/// # Errors
/// As [`write_atomically`], and the error of `content`.
pub fn write_atomically_with(
    path: impl AsRef<Path>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let path = path.as_ref();
    let mut file = AtomicFile::create(path)?;
    let mut buffer = BufWriter::new(file.file_mut());
    content(&mut buffer).map_err(FileError::io("write", path))?;
    buffer.flush().map_err(FileError::io("write", path))?;
    drop(buffer);
    file.commit()
}
