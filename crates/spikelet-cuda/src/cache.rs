//! The cache of compiled kernels, in memory for the process and on disk for later ones.
//!
//! A kernel's key is a hash of everything that its code depends on. In memory, threads that request
//! the same kernel at the same time compile it once; different kernels compile concurrently. On disk,
//! in `$SPIKELET_CACHE/kernels` or `~/.cache/spikelet/kernels`, see [`disk_store`]. A folder that cannot be
//! used is no error: kernels are then compiled in each process, and [`kernel_cache`] reports the
//! reason.

pub(crate) mod disk_store;
mod folder;

use crate::compiler::{Architecture, CompileError, Compiler};
use crate::library::{self, Library};
use crate::recent::Recent;
use disk_store::{DiskStore, Format};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use disk_store::KernelCache;

/// The hash of everything that a cached content depends on.
pub(crate) type Key = [u8; 32];

static FORMAT: Format = Format {
    magic: b"spikelet kernel1",
    suffix: ".kernel",
    contents: "kernels",
};

/// The environment variable of the folder of this program's caches.
const VARIABLE: &str = "SPIKELET_CACHE";

/// The kernel of `source` for a GPU of compute capability `arch`, from memory, from disk, or
/// compiled. `name` is for messages.
///
/// The result is an argument of `cuModuleLoadData`: a cubin, or null-terminated PTX for an
/// architecture that this NVRTC does not support.
pub(crate) fn get_or_compile(
    source: &str,
    name: &str,
    arch: (i32, i32),
) -> Result<Arc<[u8]>, CompileError> {
    static CACHE: OnceLock<Cache> = OnceLock::new();
    let compiler = Compiler::get()?;
    let target = compiler.target(arch)?;
    let driver = match target {
        Architecture::Real(_) => None,
        Architecture::Virtual(_) => library::find(Library::Driver).ok(),
    };
    let headers = compiler.headers(source);
    let mut texts = vec![source, compiler.version(), env!("CARGO_PKG_VERSION")];
    texts.extend(headers.key());
    let key = key(
        &texts,
        &Compiler::options(target),
        driver.and_then(|driver| driver.version.as_deref()),
    );
    CACHE
        .get_or_init(|| Cache::new(disk(folder())))
        .get(key, || compiler.compile(source, name, target, headers))
}

/// The cache of compiled kernels on disk: its folder, content and usability.
pub fn kernel_cache() -> KernelCache {
    disk(folder()).status()
}

/// The kernels in a folder.
fn disk(folder: Option<PathBuf>) -> DiskStore {
    DiskStore::new(folder, &FORMAT)
}

fn folder() -> Option<PathBuf> {
    folder_in(|name| std::env::var_os(name).map(PathBuf::from))
}

fn folder_in(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.as_os_str().is_empty());
    let root = set(VARIABLE).or_else(|| {
        set("XDG_CACHE_HOME")
            // The XDG specification requires relative folders to be ignored.
            .filter(|folder| folder.is_absolute())
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .map(|folder| folder.join("spikelet"))
    })?;
    Some(root.join("kernels"))
}

/// Hashes the parts, each preceded by its length so that their boundaries count.
fn key(texts: &[&str], options: &[String], driver: Option<&str>) -> Key {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    texts.iter().for_each(|text| add(text));
    options.iter().for_each(|option| add(option));
    add(driver.unwrap_or(""));
    hash.finalize().into()
}

/// A kernel in memory, locked while it is compiled.
type Slot = Mutex<Option<Arc<[u8]>>>;

/// The most kernels in memory, besides those that are being compiled.
const MAX_UNUSED: usize = 1024;

struct Cache {
    memory: Mutex<Recent<Key, Slot>>,
    disk: DiskStore,
}

impl Cache {
    fn new(disk: DiskStore) -> Self {
        Cache {
            memory: Mutex::new(Recent::new(MAX_UNUSED)),
            disk,
        }
    }

    /// The kernel of this key, compiled by `compile` if it is not cached. Errors are not cached: the
    /// next caller tries again.
    fn get<E>(
        &self,
        key: Key,
        compile: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Arc<[u8]>, E> {
        // The data behind these locks is consistent at any time, even after a panic.
        let slot = self.slot(key);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = &*slot {
            return Ok(Arc::clone(code));
        }
        let code: Arc<[u8]> = match self.disk.read(&key) {
            Some(code) => code.into(),
            None => {
                let code = compile()?;
                self.disk.write(&key, &code);
                code.into()
            }
        };
        *slot = Some(Arc::clone(&code));
        Ok(code)
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.is_full() {
            drop(memory.take_unused());
        }
        memory.insert(key, Mutex::default())
    }
}

/// For the fuzz targets: files of the cache on disk.
#[doc(hidden)]
pub mod kernel_files {
    use super::disk;
    use std::path::{Path, PathBuf};

    const KEY: [u8; 32] = [1; 32];

    /// Writes code into the cache in a folder; the path of its file.
    pub fn write(folder: &Path, code: &[u8]) -> PathBuf {
        disk(Some(folder.to_path_buf())).write(&KEY, code);
        folder.join(format!("{}.kernel", "01".repeat(KEY.len())))
    }

    /// The code that was written, if its file is intact.
    pub fn read(folder: &Path) -> Option<Vec<u8>> {
        disk(Some(folder.to_path_buf())).read(&KEY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::convert::Infallible;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn threads_that_request_the_same_kernel_compile_it_once() {
        let cache = Cache::new(disk(None));
        let compiled = AtomicUsize::new(0);
        let start = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let code = cache.get([1; 32], || {
                        compiled.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, Infallible>(vec![1, 2, 3])
                    });
                    assert_eq!(&code.unwrap()[..], [1, 2, 3]);
                });
            }
        });
        assert_eq!(compiled.into_inner(), 1);
    }

    #[test]
    fn different_kernels_compile_concurrently() {
        let cache = Cache::new(disk(None));
        // Each waits for the other while it compiles: sequential compilation would deadlock.
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for k in 0..2 {
                let (cache, both) = (&cache, &both);
                scope.spawn(move || {
                    let code = cache.get([k; 32], || {
                        both.wait();
                        Ok::<_, Infallible>(vec![k])
                    });
                    assert_eq!(&code.unwrap()[..], [k]);
                });
            }
        });
    }

    #[test]
    fn an_error_is_not_cached() {
        let cache = Cache::new(disk(None));
        assert_eq!(cache.get([1; 32], || Err("no")), Err("no"));
        assert!(cache.get([1; 32], || Ok::<_, &str>(vec![1])).is_ok());
    }

    #[test]
    fn a_kernel_that_was_compiled_is_read_from_disk_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let cache = || Cache::new(disk(Some(folder.path().join("kernels"))));
        let first = cache().get([7; 32], || Ok::<_, &str>(vec![4, 5])).unwrap();
        let second = cache().get([7; 32], || Err("compiled again")).unwrap();
        assert_eq!(first, second);
    }

    #[test]
    fn a_folder_that_cannot_be_written_means_no_disk_cache() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "not a folder").unwrap();
        let cache = Cache::new(disk(Some(file.join("kernels"))));
        let code = cache.get([7; 32], || Ok::<_, Infallible>(vec![4])).unwrap();
        assert_eq!(&code[..], [4]);
    }

    #[test]
    fn every_part_and_its_boundary_changes_the_key() {
        let options = |text: &str| vec![text.to_string()];
        let base = key(&["ab", "c"], &options("o"), None);
        assert_eq!(base, key(&["ab", "c"], &options("o"), None));
        for other in [
            key(&["a", "bc"], &options("o"), None),
            key(&["ab", "d"], &options("o"), None),
            key(&["ab", "c"], &options("p"), None),
            key(&["ab", "c"], &options("o"), Some("13.0")),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn the_folder_follows_the_variables() {
        let with = |set: &[(&str, &str)]| {
            let set: HashMap<_, _> = set.iter().copied().collect();
            folder_in(|name| set.get(name).map(PathBuf::from))
        };
        let home = ("HOME", "/home/ada");
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(with(&[home]), path("/home/ada/.cache/spikelet/kernels"));
        assert_eq!(
            with(&[home, ("XDG_CACHE_HOME", "/cache")]),
            path("/cache/spikelet/kernels")
        );
        assert_eq!(
            with(&[home, ("XDG_CACHE_HOME", "relative")]),
            path("/home/ada/.cache/spikelet/kernels")
        );
        assert_eq!(with(&[home, (VARIABLE, "/mine")]), path("/mine/kernels"));
        assert_eq!(
            with(&[home, (VARIABLE, "")]),
            path("/home/ada/.cache/spikelet/kernels")
        );
        assert_eq!(with(&[]), None);
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn a_kernel_is_compiled_and_then_shared() {
        let source = "extern \"C\" __global__ void nothing() {}\n";
        let first = get_or_compile(source, "nothing", (9, 0)).unwrap();
        let second = get_or_compile(source, "nothing", (9, 0)).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
    }
}
