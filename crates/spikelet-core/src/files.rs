//! Atomic file writes, and reading with limits.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

mod abandoned;
mod atomic;

pub use abandoned::remove_abandoned;
pub use atomic::{AtomicFile, write_atomically, write_atomically_with};

/// An error of a file, with the path and a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// An error of the operating system.
    #[error("cannot {action} {}: {source}\n  help: {}", .path.display(), advice(source))]
    Io {
        /// The operation: "create", "read", "write", …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file exists but its content is invalid.
    #[error("{} is damaged: {problem}\n  help: {help}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error and its position.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// The path is not that of a regular file, but of a FIFO, a device or a socket.
    #[error("cannot read {}: it is no regular file\n  help: copy what it gives into a file, and name that", .path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// The file is too large to be read.
    #[error("cannot read {}: it has {size} bytes, more than the {limit} that a file may have here\n  help: check that it is the file that you mean", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The maximal size in bytes.
        limit: u64,
    },
}

impl FileError {
    /// An [`FileError::Io`] as a closure for `map_err`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

fn advice(error: &io::Error) -> &'static str {
    // The kind of this error is not stable yet.
    #[cfg(unix)]
    if error.raw_os_error() == Some(libc::ELOOP) {
        return "symbolic links lead to each other in a circle: remove one of them, or choose another path";
    }
    match error.kind() {
        ErrorKind::NotFound => "check the path for a spelling mistake",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "choose a folder that you may write to, or change its permissions"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space, or choose a folder on another disk"
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file stands where a folder is needed: choose another path, or move the file away"
        }
        ErrorKind::IsADirectory => "this is a folder: give the path of a file",
        ErrorKind::InvalidFilename => {
            "a name in this path is too long, or not allowed on this disk: choose another one"
        }
        ErrorKind::FileTooLarge => {
            "files may not be so large here: raise the limit (`ulimit -f`), or choose another disk"
        }
        _ => "check that the disk is mounted and in order",
    }
}

/// The maximal size of a file for [`read`] in bytes: 16 GiB.
pub const LARGEST: u64 = 16 << 30;

/// Reads a file.
///
/// # Errors
/// [`FileError::Io`] with the path if the file cannot be read; [`FileError::NotRegular`] if it is a
/// FIFO or a device, which may have no end; [`FileError::TooLarge`] above [`LARGEST`].
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>, FileError> {
    read_at_most(path.as_ref(), LARGEST)
}

/// As [`read`], of a file of at most `limit` bytes.
///
/// # Errors
/// As [`read`].
pub fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    // Checked before it is opened: opening a FIFO waits for a writer.
    let found = std::fs::metadata(path).map_err(FileError::io("read", path))?;
    if found.is_dir() {
        return Err(FileError::io("read", path)(ErrorKind::IsADirectory.into()));
    }
    if !found.is_file() {
        return Err(FileError::NotRegular {
            path: path.to_path_buf(),
        });
    }
    if found.len() > limit {
        return Err(FileError::TooLarge {
            path: path.to_path_buf(),
            size: found.len(),
            limit,
        });
    }
    std::fs::read(path).map_err(FileError::io("read", path))
}

/// Makes a write beyond the file size limit (`ulimit -f`) an error that names the file, instead of a signal that
/// ends the process without a message. For programs; the library does not call it.
pub fn refuse_instead_of_signal() {
    #[cfg(unix)]
    // SAFETY: to ignore a signal installs no handler, and nothing else here uses SIGXFSZ.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Removes the temporary files of killed processes in a folder, those of [`write_atomically`]. No process may be
/// writing to the folder.
///
/// # Errors
/// [`FileError::Io`] if the folder cannot be read, or a file cannot be removed.
pub fn remove_leftovers(folder: &Path) -> Result<(), FileError> {
    let entries = std::fs::read_dir(folder).map_err(FileError::io("read the folder", folder))?;
    for entry in entries {
        let path = entry
            .map_err(FileError::io("read the folder", folder))?
            .path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') && name.ends_with(SUFFIX) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a file, or a folder with its contents, if it exists.
///
/// # Errors
/// [`FileError::Io`] with the path.
pub fn remove(path: &Path) -> Result<(), FileError> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        _ => std::fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(FileError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The suffix of temporary files. Their names begin with a dot.
const SUFFIX: &str = ".tmp";

/// Creates a folder and its missing parents, unless it exists.
///
/// # Errors
/// [`FileError::Io`] with the path if it cannot be created.
pub fn create_folder(path: impl AsRef<Path>) -> Result<(), FileError> {
    let path = path.as_ref();
    std::fs::create_dir_all(path).map_err(FileError::io("create the folder", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_with_its_missing_folders_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.txt");
        write_atomically(&path, b"first").unwrap();
        write_atomically(&path, b"second").unwrap();
        assert_eq!(read(&path).unwrap(), b"second");
        assert_eq!(names(path.parent().unwrap()), ["c.txt"]);
    }

    #[test]
    fn a_failing_writer_leaves_the_old_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        write_atomically(&path, b"old").unwrap();
        let error = write_atomically_with(&path, |file| {
            file.write_all(b"half of the n")?;
            Err(io::Error::other("the disk went away"))
        })
        .unwrap_err();
        assert_eq!(read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["checkpoint"]);
        assert!(error.to_string().contains("the disk went away"));
        assert!(std::error::Error::source(&error).is_some());
    }

    #[test]
    fn errors_name_the_path_and_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write_atomically(&file, b"").unwrap();
        let message = write_atomically(file.join("under/it"), b"")
            .unwrap_err()
            .to_string();
        assert!(message.contains("file/under"), "{message}");
        assert!(message.contains("help: "), "{message}");

        let missing = folder.path().join("missing");
        let message = read(&missing).unwrap_err().to_string();
        assert!(
            message.contains(&*missing.to_string_lossy()) && message.contains("spelling"),
            "{message}"
        );
        let message = write_atomically("/", b"").unwrap_err().to_string();
        assert!(message.contains("does not end in a file name"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_up_to_a_size_are_read() {
        assert!(matches!(
            read("/dev/zero"),
            Err(FileError::NotRegular { .. })
        ));
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        assert!(matches!(read(&fifo), Err(FileError::NotRegular { path }) if path == fifo));

        let large = folder.path().join("large");
        File::create(&large).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(matches!(
            read(&large),
            Err(FileError::TooLarge { size, limit, .. }) if (size, limit) == (LARGEST + 1, LARGEST)
        ));
    }

    #[cfg(unix)]
    #[test]
    fn advice_fits_links_in_a_circle_and_names_that_are_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let circle = folder.path().join("circle");
        std::os::unix::fs::symlink(&circle, &circle).unwrap();
        let long = folder.path().join("x".repeat(300));
        for (path, expected) in [(circle, "in a circle"), (long, "too long")] {
            let message = read(&path).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn what_killed_writers_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".last.safetensors.Xy12.tmp", "mine.tmp", ".lock"] {
            std::fs::write(folder.path().join(name), b"").unwrap();
        }
        remove_leftovers(folder.path()).unwrap();
        assert_eq!(names(folder.path()), [".lock", "mine.tmp"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_written_file_may_be_read_by_whom_the_umask_allows() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        write_atomically(&ours, b"").unwrap();
        std::fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
