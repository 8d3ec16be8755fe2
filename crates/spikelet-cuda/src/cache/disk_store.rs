//! Files of a cache on disk: `<key>.<suffix>`, a header with the key and a checksum, then the
//! content.
//!
//! Several processes may use a folder at the same time. A file is written under a temporary name and
//! renamed when it is complete, so a reader sees all of it or nothing; a damaged file fails its
//! checksum and is replaced. The checksum does not authenticate the author of a file: the folder is
//! used only under the conditions of [`folder`]. Only files named as above are ever touched. The
//! folder is kept below a size by removing the least recently used files.

#[cfg(test)]
mod tests;

use super::{Key, folder};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

/// The files of one cache.
pub(crate) struct Format {
    /// The first bytes of a file; a new layout gets a new number.
    pub(crate) magic: &'static [u8; 16],
    /// The end of a file's name.
    pub(crate) suffix: &'static str,
    /// The contents, in the plural.
    pub(crate) contents: &'static str,
}

/// Bytes of a file before its content.
const HEADER: usize = 16 + 32 + 32;
/// Bytes of the largest file that is read; a kernel has some thousand.
const LARGEST: u64 = 64 << 20;
/// The most bytes of a folder.
const LIMIT: u64 = 256 << 20;
/// The start of the name of a file that is being written.
const UNFINISHED: &str = ".unfinished-";
/// An unfinished file of this age belongs to a process that was killed.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The files of one format in a folder; without a folder nothing is stored.
pub(crate) struct DiskStore {
    folder: Option<PathBuf>,
    format: &'static Format,
    limit: u64,
    warned: Once,
}

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

impl DiskStore {
    pub(crate) fn new(folder: Option<PathBuf>, format: &'static Format) -> Self {
        Self {
            folder,
            format,
            limit: LIMIT,
            warned: Once::new(),
        }
    }

    /// The path of a key's file.
    fn file(&self, key: &Key) -> Option<PathBuf> {
        let mut name = String::new();
        for byte in key {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        name.push_str(self.format.suffix);
        Some(self.folder.as_ref()?.join(name))
    }

    /// The folder, if only this user can have written to it; otherwise a warning is logged once.
    fn trusted(&self) -> Option<&Path> {
        let folder = self.folder.as_deref()?;
        let Some(distrust_reason) = folder::distrust_reason(folder) else {
            return Some(folder);
        };
        self.warned.call_once(|| {
            let (contents, folder) = (self.format.contents, folder.display());
            tracing::warn!("{contents} are not cached in {folder}: {distrust_reason}");
        });
        None
    }

    /// The content stored for a key; `None` if no file has it, or the file is damaged.
    pub(crate) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        self.trusted()?;
        let (file, mut bytes) = folder::read(&self.file(key)?, LARGEST).ok()?;
        let (header, content) = bytes.split_at_checked(HEADER)?;
        if header != &self.header(key, content)[..] {
            return None;
        }
        bytes.drain(..HEADER);
        // The time of the last use. If it cannot be set, the file is only removed earlier.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Stores a content, if the folder can be written, and removes the oldest if it became too large.
    pub(crate) fn write(&self, key: &Key, content: &[u8]) {
        let (Some(folder), Some(file)) = (self.trusted(), self.file(key)) else {
            return;
        };
        if self.write_file(folder, &file, key, content).is_ok() {
            self.evict(folder);
        }
    }

    fn write_file(&self, folder: &Path, file: &Path, key: &Key, content: &[u8]) -> io::Result<()> {
        folder::create(folder)?;
        let mut unfinished = unfinished(folder)?;
        unfinished.write_all(&self.header(key, content))?;
        unfinished.write_all(content)?;
        unfinished.persist(file)?;
        Ok(())
    }

    fn header(&self, key: &Key, content: &[u8]) -> Vec<u8> {
        [&self.format.magic[..], key, &Sha256::digest(content)].concat()
    }

    /// Removes the least recently used files until the rest fits.
    fn evict(&self, folder: &Path) {
        let mut by_age = self.files(folder);
        let mut total: u64 = by_age.iter().map(|file| file.bytes).sum();
        by_age.sort_by_key(|file| file.used);
        for file in &by_age {
            if total <= self.limit {
                break;
            }
            // Another process may have removed it already.
            let _ = fs::remove_file(&file.path);
            total -= file.bytes;
        }
        for file in files(folder, |name| name.starts_with(UNFINISHED)) {
            if file.used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(file.path);
            }
        }
    }

    /// The complete files of the store.
    fn files(&self, folder: &Path) -> Vec<CachedFile> {
        let is_key = |key: &str| key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit());
        files(folder, |name| {
            name.strip_suffix(self.format.suffix).is_some_and(is_key)
        })
    }

    pub(crate) fn status(&self) -> KernelCache {
        let folder = self.folder.as_deref();
        let files = folder.map(|folder| self.files(folder)).unwrap_or_default();
        KernelCache {
            kernels: files.len(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            limit: self.limit,
            problem: match folder {
                None => Some("none of SPIKELET_CACHE, XDG_CACHE_HOME and HOME is set".to_string()),
                Some(folder) => folder::distrust_reason(folder).or_else(|| {
                    let error = try_writing(folder).err()?;
                    Some(format!("it is not writable: {}", error.kind()))
                }),
            },
            folder: self.folder.clone(),
        }
    }
}

/// Creates a file to write to.
fn unfinished(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(folder)
}

/// Whether a file can be created in `folder`, or in the folder that it would be created in; leaves
/// nothing behind.
fn try_writing(folder: &Path) -> io::Result<()> {
    let nearest = folder.ancestors().find(|ancestor| ancestor.exists());
    // The last ancestor of a relative path is empty and means the current folder.
    unfinished(nearest.unwrap_or(Path::new("."))).map(drop)
}

struct CachedFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// The files of a folder whose names belong to a cache.
fn files(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<CachedFile> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_ours))
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
        .filter(|(_, data)| data.is_file())
        .map(|(path, data)| CachedFile {
            path,
            bytes: data.len(),
            used: data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        })
        .collect()
}
