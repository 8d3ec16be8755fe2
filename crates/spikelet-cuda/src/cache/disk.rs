//! Kernels as files: `<key>.kernel`, a header with the key and a checksum, then the code.
//!
//! Several processes may use a folder at the same time. A file is written under another name and
//! renamed when it is whole, so a reader sees all of it or none; a file that is damaged all the
//! same fails its checksum and is replaced. A checksum says nothing of who wrote a file: what the
//! folder has to be for that is in [`folder`]. It is kept below a size by removing what was not
//! used for the longest time. Only files with names of this cache are ever touched.

use super::Key;
use super::folder;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

/// The first bytes of a file; another layout has another number.
const MAGIC: &[u8; 16] = b"spikelet kernel1";
const HEADER: usize = MAGIC.len() + 32 + 32;
const SUFFIX: &str = ".kernel";
const UNFINISHED: &str = ".unfinished-kernel-";
/// Bytes that the folder may hold.
const LIMIT: u64 = 256 << 20;
/// Bytes of the largest file that is read; a kernel has some thousands.
const LARGEST: u64 = 64 << 20;
/// An unfinished file of this age belongs to a process that was killed.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The cache of compiled kernels on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCache {
    /// Its folder; `None` if the environment names none (`SPIKELET_CACHE`, `XDG_CACHE_HOME` and
    /// `HOME` are all unset).
    pub folder: Option<PathBuf>,
    /// How many kernels are in it.
    pub kernels: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// The size in bytes above which the oldest are removed.
    pub limit: u64,
    /// Why kernels cannot be kept there, if they cannot.
    pub problem: Option<String>,
}

/// A folder of kernels, or none.
pub(super) struct Disk {
    folder: Option<PathBuf>,
    limit: u64,
    warned: Once,
}

impl Disk {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Disk {
            folder,
            limit: LIMIT,
            warned: Once::new(),
        }
    }

    fn file(&self, key: &Key) -> Option<PathBuf> {
        use std::fmt::Write;

        let mut name = String::with_capacity(2 * key.len() + SUFFIX.len());
        for byte in key {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        name.push_str(SUFFIX);
        Some(self.folder.as_ref()?.join(name))
    }

    /// The folder, if only this user can have written what is in it; else it is named once.
    fn trusted(&self) -> Option<&Path> {
        let folder = self.folder.as_deref()?;
        match folder::objection(folder) {
            None => Some(folder),
            Some(objection) => {
                self.warned.call_once(|| {
                    tracing::warn!("kernels are not kept in {}: {objection}", folder.display());
                });
                None
            }
        }
    }

    /// The code of a key, if it is there and whole.
    pub(super) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        self.trusted()?;
        let (file, bytes) = folder::read(&self.file(key)?, LARGEST).ok()?;
        let code = check(key, &bytes)?.to_vec();
        // Its time says when it was last used. If it cannot be set it is removed earlier, no more.
        let _ = file.set_modified(SystemTime::now());
        Some(code)
    }

    /// Keeps code, if the folder can be written, and removes the oldest if it became too large.
    pub(super) fn write(&self, key: &Key, code: &[u8]) {
        let (Some(folder), Some(file)) = (self.trusted(), self.file(key)) else {
            return;
        };
        if store(folder, &file, key, code).is_ok() {
            self.evict(folder);
        }
    }

    /// Removes what was not used for the longest time until the rest fits.
    fn evict(&self, folder: &Path) {
        let mut kept = kernels(folder);
        let mut total: u64 = kept.iter().map(|kernel| kernel.bytes).sum();
        kept.sort_by_key(|kernel| kernel.used);
        for kernel in &kept {
            if total <= self.limit {
                break;
            }
            // Another process may have removed it already.
            let _ = fs::remove_file(&kernel.path);
            total -= kernel.bytes;
        }
        for (path, used) in files(folder, |name| name.starts_with(UNFINISHED))
            .filter_map(|(path, data)| Some((path, data.modified().ok()?)))
        {
            if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(path);
            }
        }
    }

    pub(super) fn status(&self) -> KernelCache {
        let kept = self.folder.as_deref().map(kernels).unwrap_or_default();
        KernelCache {
            kernels: kept.len(),
            bytes: kept.iter().map(|kernel| kernel.bytes).sum(),
            limit: self.limit,
            problem: match &self.folder {
                None => Some("neither SPIKELET_CACHE nor HOME is set".to_string()),
                Some(folder) => folder::objection(folder).or_else(|| {
                    let error = try_writing(folder).err()?;
                    Some(format!("it cannot be written, {}", error.kind()))
                }),
            },
            folder: self.folder.clone(),
        }
    }
}

/// The code in a file's bytes, if they are whole and of this key.
fn check<'a>(key: &Key, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let (header, code) = bytes.split_at_checked(HEADER)?;
    let (magic, rest) = header.split_at(MAGIC.len());
    let (its_key, checksum) = rest.split_at(32);
    let whole = magic == MAGIC && its_key == key && checksum == &Sha256::digest(code)[..];
    whole.then_some(code)
}

fn store(folder: &Path, file: &Path, key: &Key, code: &[u8]) -> io::Result<()> {
    folder::create(folder)?;
    let mut unfinished = unfinished(folder)?;
    unfinished.write_all(MAGIC)?;
    unfinished.write_all(key)?;
    unfinished.write_all(&Sha256::digest(code))?;
    unfinished.write_all(code)?;
    unfinished.persist(file)?;
    Ok(())
}

fn unfinished(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(folder)
}

/// Whether a file can be made in `folder`, or in the folder that it would be made in; leaves
/// nothing behind.
fn try_writing(folder: &Path) -> io::Result<()> {
    let nearest = folder.ancestors().find(|ancestor| ancestor.exists());
    // The last ancestor of a relative path is empty and stands for the current folder.
    unfinished(nearest.unwrap_or(Path::new("."))).map(drop)
}

struct Kernel {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

fn kernels(folder: &Path) -> Vec<Kernel> {
    let is_kernel = |name: &str| {
        name.strip_suffix(SUFFIX)
            .is_some_and(|key| key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    files(folder, is_kernel)
        .map(|(path, data)| Kernel {
            path,
            bytes: data.len(),
            used: data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        })
        .collect()
}

/// The files of a folder whose names are ours.
fn files(
    folder: &Path,
    ours: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (PathBuf, fs::Metadata)> {
    folder
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .filter(move |entry| entry.file_name().to_str().is_some_and(&ours))
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .filter(|(_, data)| data.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn disk(folder: &tempfile::TempDir) -> Disk {
        Disk::new(Some(folder.path().join("a/b")))
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder);
        assert_eq!(disk.read(&[1; 32]), None);
        disk.write(&[1; 32], b"code");
        disk.write(&[2; 32], b"");
        assert_eq!(disk.read(&[1; 32]).unwrap(), b"code");
        assert_eq!(disk.read(&[2; 32]).unwrap(), b"");
        assert_eq!(disk.read(&[3; 32]), None);
    }

    #[test]
    fn a_damaged_truncated_or_foreign_file_is_not_read_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder);
        disk.write(&[1; 32], b"some code");
        let file = disk.file(&[1; 32]).unwrap();
        let whole = fs::read(&file).unwrap();

        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&file, &damaged).unwrap();
            assert_eq!(disk.read(&[1; 32]), None, "byte {at}");
            fs::write(&file, &whole[..at]).unwrap();
            assert_eq!(disk.read(&[1; 32]), None, "length {at}");
        }
        fs::write(disk.file(&[2; 32]).unwrap(), &whole).unwrap();
        assert_eq!(disk.read(&[2; 32]), None);

        disk.write(&[1; 32], b"some code");
        assert_eq!(disk.read(&[1; 32]).unwrap(), b"some code");
    }

    #[test]
    fn the_kernel_that_was_unused_for_the_longest_time_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = disk(&folder);
        let file = (HEADER + 1000) as u64;
        disk.limit = 2 * file;
        let age = |key: &Key, seconds| {
            let file = File::open(disk.file(key).unwrap()).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
                .unwrap();
        };
        disk.write(&[1; 32], &[0; 1000]);
        disk.write(&[2; 32], &[0; 1000]);
        age(&[1; 32], 200);
        age(&[2; 32], 100);
        // Reading is using.
        assert!(disk.read(&[1; 32]).is_some());
        disk.write(&[3; 32], &[0; 1000]);
        assert!(disk.read(&[1; 32]).is_some());
        assert!(disk.read(&[2; 32]).is_none());
        assert!(disk.read(&[3; 32]).is_some());
        let status = disk.status();
        assert_eq!((status.kernels, status.bytes), (2, 2 * file));
        assert_eq!(status.problem, None);
    }

    #[test]
    fn files_of_others_are_left_alone_and_abandoned_ones_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = disk(&folder);
        disk.limit = 0;
        let inside = folder.path().join("a/b");
        fs::create_dir_all(&inside).unwrap();
        let foreign = inside.join("thesis.txt");
        let abandoned = inside.join(format!("{UNFINISHED}1"));
        let being_written = inside.join(format!("{UNFINISHED}2"));
        for path in [&foreign, &abandoned, &being_written] {
            fs::write(path, "text").unwrap();
        }
        let long_ago = SystemTime::now() - 2 * ABANDONED;
        for path in [&foreign, &abandoned] {
            let file = File::open(path).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        disk.write(&[1; 32], b"code");
        assert!(foreign.exists());
        assert!(!abandoned.exists());
        assert!(being_written.exists());
        assert_eq!(disk.read(&[1; 32]), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_is_not_used_and_the_status_says_so() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder);
        disk.write(&[1; 32], b"code");
        let inside = folder.path().join("a/b");
        let set = |mode| fs::set_permissions(&inside, fs::Permissions::from_mode(mode)).unwrap();
        set(0o777);
        assert_eq!(disk.read(&[1; 32]), None);
        disk.write(&[2; 32], b"more");
        assert!(disk.status().problem.unwrap().contains("mode 777"));
        set(0o700);
        assert_eq!(disk.read(&[1; 32]).unwrap(), b"code");
        assert_eq!(disk.read(&[2; 32]), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_of_a_kernels_size_is_not_read_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder);
        disk.write(&[1; 32], b"code");
        let file = disk.file(&[1; 32]).unwrap();
        fs::rename(&file, folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).unwrap();
        assert_eq!(disk.read(&[1; 32]), None, "a link");
        let pipe = std::ffi::CString::new(disk.file(&[2; 32]).unwrap().to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert_eq!(disk.read(&[2; 32]), None, "a pipe");
        let large = fs::File::create(disk.file(&[3; 32]).unwrap()).unwrap();
        large.set_len(3 << 30).unwrap();
        assert_eq!(disk.read(&[3; 32]), None, "a file of 3 GiB");
    }

    #[test]
    fn the_status_names_the_problem_and_makes_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let status = disk(&folder).status();
        assert_eq!((status.kernels, status.bytes), (0, 0));
        assert_eq!(status.problem, None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(
            Disk::new(Some(file.join("kernels")))
                .status()
                .problem
                .is_some()
        );
        assert!(Disk::new(None).status().problem.is_some());
    }
}
