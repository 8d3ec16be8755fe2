//! The lock on the folder of a run.

use super::RunFolderError;
use spikelet_core::Result;
use spikelet_core::files::FileError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

/// The locked file. It contains the id of the process.
pub(crate) const LOCK: &str = ".lock";

/// The number of further attempts to lock a folder, and the time before each.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Locks the folder of a run for this process, as [`lock_file`].
pub(super) fn lock(folder: &Path) -> Result<Option<File>> {
    lock_file(folder, LOCK)
}

/// Locks a file of this name in a folder for this process; `None` if a run that could not start has just removed the folder
/// or the file, so that no other process would find the locked file.
pub(super) fn lock_file(folder: &Path, name: &str) -> Result<Option<File>> {
    let path = folder.join(name);
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut file = match options.open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && !folder.exists() => return Ok(None),
        Err(error) => return Err(FileError::io("open", &path)(error).into()),
    };
    let mut locked = file.try_lock();
    for _ in 0..TRIES {
        // A process that asks for the holder of the lock has a shared lock for a moment.
        let Err(TryLockError::WouldBlock) = locked else {
            break;
        };
        std::thread::sleep(PAUSE);
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // The process with the lock may not have written it yet.
            let _ = file.read_to_string(&mut pid);
            return Err(RunFolderError::InUse {
                folder: folder.to_path_buf(),
                pid: pid.trim().parse().ok(),
            }
            .into());
        }
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(FileError::io("lock", &path)(error).into()),
    }
    if !is_at(&file, &path) {
        return Ok(None);
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(FileError::io("write", &path))?;
    Ok(Some(file))
}

/// Whether a process has the lock on a folder, and its id if it is known. Nothing is changed.
pub(crate) fn holder(folder: &Path) -> Option<Option<u32>> {
    let mut file = File::open(folder.join(LOCK)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            Some(pid.trim().parse().ok())
        }
        // Released when the file is closed. On file systems without locks nothing is known.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// Whether an open file is the file at this path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: std::fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(there)) => id(open) == id(there),
        _ => false,
    }
}

/// These systems do not remove open files.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(holder(folder.path()), None);
        let file = lock(folder.path()).expect("a lock").expect("it is there");
        assert_eq!(holder(folder.path()), Some(Some(std::process::id())));
        assert!(lock(folder.path()).is_err());
        drop(file);
        assert_eq!(holder(folder.path()), None);
        assert!(lock(folder.path()).is_ok());
    }

    #[test]
    fn a_lock_on_a_file_that_was_removed_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(LOCK);
        let file = lock(folder.path()).expect("a lock").expect("it is there");
        assert!(is_at(&file, &path));
        std::fs::remove_file(&path).expect("removed");
        assert!(!is_at(&file, &path));
        let _other = lock(folder.path()).expect("a lock").expect("it is there");
        assert!(!is_at(&file, &path));
        assert!(matches!(lock(&folder.path().join("gone")), Ok(None)));
    }
}
