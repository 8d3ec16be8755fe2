//! Compiled kernels as files, see [`disk_store`](super::disk_store). The folder is kept below a size
//! by removing the least recently used kernels.

use super::Key;
use super::disk_store::{DiskStore, Format};
use super::folder;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const SUFFIX: &str = ".kernel";
const UNFINISHED: &str = ".unfinished-kernel-";

static FORMAT: Format = Format {
    magic: b"spikelet kernel1",
    suffix: SUFFIX,
    unfinished: UNFINISHED,
    // A kernel has some thousand bytes.
    largest: 64 << 20,
    contents: "kernels",
};

/// The most bytes of the folder.
const LIMIT: u64 = 256 << 20;
/// An unfinished file of this age belongs to a process that was killed.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The cache of compiled kernels on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCache {
    /// Its folder; `None` if `SPIKELET_CACHE`, `XDG_CACHE_HOME` and `HOME` are all unset.
    pub folder: Option<PathBuf>,
    /// The number of kernels in it.
    pub kernels: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// The size in bytes above which the oldest are removed.
    pub limit: u64,
    /// The reason why the folder cannot be used, if any.
    pub problem: Option<String>,
}

/// The kernels in a folder.
pub(super) struct Disk {
    store: DiskStore,
    limit: u64,
}

impl Disk {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Disk {
            store: DiskStore::new(folder, &FORMAT),
            limit: LIMIT,
        }
    }

    /// The code stored for a key.
    pub(super) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        let (file, code) = self.store.read(key)?;
        // The time of the last use. If it cannot be set, the kernel is only removed earlier.
        let _ = file.set_modified(SystemTime::now());
        Some(code)
    }

    /// Stores code, if the folder can be written, and removes the oldest if it became too large.
    pub(super) fn write(&self, key: &Key, code: &[u8]) {
        if let Some(folder) = self.store.write(key, code) {
            self.evict(folder);
        }
    }

    /// Removes the least recently used kernels until the rest fits.
    fn evict(&self, folder: &Path) {
        let mut kernels_by_age = kernels(folder);
        let mut total: u64 = kernels_by_age.iter().map(|kernel| kernel.bytes).sum();
        kernels_by_age.sort_by_key(|kernel| kernel.used);
        for kernel in &kernels_by_age {
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
        let kernels_by_age = self.store.folder().map(kernels).unwrap_or_default();
        KernelCache {
            kernels: kernels_by_age.len(),
            bytes: kernels_by_age.iter().map(|kernel| kernel.bytes).sum(),
            limit: self.limit,
            problem: match self.store.folder() {
                None => Some("none of SPIKELET_CACHE, XDG_CACHE_HOME and HOME is set".to_string()),
                Some(folder) => folder::distrust_reason(folder).or_else(|| {
                    let error = try_writing(&self.store, folder).err()?;
                    Some(format!("it is not writable: {}", error.kind()))
                }),
            },
            folder: self.store.folder().map(Path::to_path_buf),
        }
    }
}

/// Whether a file can be created in `folder`, or in the folder that it would be created in; leaves
/// nothing behind.
fn try_writing(store: &DiskStore, folder: &Path) -> io::Result<()> {
    let nearest = folder.ancestors().find(|ancestor| ancestor.exists());
    // The last ancestor of a relative path is empty and means the current folder.
    store
        .unfinished(nearest.unwrap_or(Path::new(".")))
        .map(drop)
}

struct CachedKernel {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

fn kernels(folder: &Path) -> Vec<CachedKernel> {
    let is_kernel = |name: &str| {
        name.strip_suffix(SUFFIX)
            .is_some_and(|key| key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    files(folder, is_kernel)
        .map(|(path, data)| CachedKernel {
            path,
            bytes: data.len(),
            used: data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        })
        .collect()
}

/// The files of a folder whose names belong to this cache.
fn files(
    folder: &Path,
    is_ours: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (PathBuf, fs::Metadata)> {
    folder
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .filter(move |entry| entry.file_name().to_str().is_some_and(&is_ours))
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
    fn the_kernel_that_was_unused_for_the_longest_time_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = disk(&folder);
        let file = (Format::HEADER + 1000) as u64;
        disk.limit = 2 * file;
        let age = |key: &Key, seconds| {
            let file = File::open(disk.store.file(key).unwrap()).unwrap();
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
    fn a_folder_that_others_can_write_is_not_used_and_the_status_reports_it() {
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
    fn links_pipes_and_large_files_are_not_read_and_do_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder);
        disk.write(&[1; 32], b"code");
        let file = disk.store.file(&[1; 32]).unwrap();
        fs::rename(&file, folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).unwrap();
        assert_eq!(disk.read(&[1; 32]), None, "a link");
        let pipe =
            std::ffi::CString::new(disk.store.file(&[2; 32]).unwrap().to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert_eq!(disk.read(&[2; 32]), None, "a pipe");
        let large = fs::File::create(disk.store.file(&[3; 32]).unwrap()).unwrap();
        large.set_len(3 << 30).unwrap();
        assert_eq!(disk.read(&[3; 32]), None, "a file of 3 GiB");
    }

    #[test]
    fn the_status_names_the_problem_and_creates_no_folder() {
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
