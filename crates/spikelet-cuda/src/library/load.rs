//! Loads a library and queries its version.

use super::missing::{Refused, remedy};
use super::{Candidate, Environment, Found, Library, LibraryFile, Missing, Source};
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A library that stays loaded for the rest of the process.
pub(crate) struct Loaded {
    pub(crate) found: Found,
    pub(crate) handle: libloading::Library,
}

/// As [`find`](super::find), with the handle for looking up symbols.
pub(crate) fn open(library: Library) -> Result<&'static Loaded, Missing> {
    static LOADED: [OnceLock<Result<Loaded, Missing>>; Library::ALL.len()] =
        [const { OnceLock::new() }; Library::ALL.len()];
    LOADED[library as usize]
        .get_or_init(|| search(library))
        .as_ref()
        .map_err(Missing::clone)
}

fn search(library: Library) -> Result<Loaded, Missing> {
    let environment = Environment::current();
    let driver = driver_generation(library);
    let mut refused = Vec::new();
    for candidate in environment.candidates(library, driver) {
        match load(library, &candidate) {
            Ok(loaded) => return Ok(loaded),
            Err(Some(reason)) => refused.push(Refused {
                target: candidate.target,
                reason,
            }),
            Err(None) => {}
        }
    }
    Err(Missing {
        library,
        looked: environment
            .folders(library)
            .into_iter()
            .map(|(_, folder)| folder)
            .collect(),
        refused,
        remedy: remedy(library, driver),
    })
}

/// The CUDA generation that the driver supports, for a library that depends on it.
pub(crate) fn driver_generation(library: Library) -> Option<u32> {
    if library == Library::Driver {
        return None;
    }
    let driver = open(Library::Driver).ok()?;
    generation(driver.found.version.as_ref()?)
}

/// The CUDA generation of a version: 13 for `13.0`.
fn generation(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

/// Opens a candidate; `Err(None)` if the loader does not find the name, `Err(Some(reason))` if there
/// is a file that cannot be used.
fn load(library: Library, candidate: &Candidate) -> Result<Loaded, Option<String>> {
    let handle = match &candidate.target {
        LibraryFile::Name(name) => dlopen(name.as_ref()).map_err(|reason| {
            (!is_unknown(name, &reason)).then(|| without_subject(&candidate.target, reason))
        })?,
        LibraryFile::Path(path) => dlopen(path.as_os_str())
            .map_err(|reason| Some(without_subject(&candidate.target, reason)))?,
    };
    let (version, address) = version(library, &handle)?;
    let path = match (mapped_file(address), &candidate.target) {
        (Some(path), _) => path,
        (None, LibraryFile::Name(name)) => PathBuf::from(name),
        (None, LibraryFile::Path(path)) => path.clone(),
    };
    if library == Library::Nvrtc && candidate.source != Source::Loader {
        keep_builtins(&path, &version);
    }
    Ok(Loaded {
        found: Found {
            library,
            path,
            version: Some(version).filter(|version| !version.is_empty()),
            source: candidate.source,
        },
        handle,
    })
}

fn dlopen(file: &std::ffi::OsStr) -> Result<libloading::Library, String> {
    // SAFETY: loading runs the constructors of the file; only NVIDIA's libraries are loaded, by name,
    // from folders where the user or the system has installed libraries.
    #[cfg(unix)]
    let opened = unsafe {
        use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
        Library::open(Some(file), RTLD_NOW | RTLD_GLOBAL).map(libloading::Library::from)
    };
    // SAFETY: as above.
    #[cfg(not(unix))]
    let opened = unsafe { libloading::Library::new(file) };
    opened.map_err(|error| match std::error::Error::source(&error) {
        Some(reason) => reason.to_string(),
        None => error.to_string(),
    })
}

/// Whether the loader's message means that no file has this name. If a dependency of the file is
/// missing, the message names the dependency.
fn is_unknown(name: &str, reason: &str) -> bool {
    // The loaders of other systems have other messages, and those systems no supported GPU.
    !cfg!(target_os = "linux")
        || (reason.contains(&format!("{name}: ")) && reason.contains("No such file"))
}

/// The reason without the file's name, which is reported separately.
fn without_subject(target: &LibraryFile, reason: String) -> String {
    match reason.strip_prefix(&format!("{target}: ")) {
        Some(rest) => rest.to_string(),
        None => reason,
    }
}

/// The library's version as text, empty if the query fails, and the address of the function that was
/// called.
fn version(library: Library, handle: &libloading::Library) -> Result<(String, usize), String> {
    type One = unsafe extern "C" fn(*mut c_int) -> c_int;
    type Two = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    type Returned = unsafe extern "C" fn() -> usize;

    let (mut a, mut b) = (0, 0);
    // SAFETY: the functions have these types in NVIDIA's headers in all versions with these file names;
    // they write only through the given pointers and need no initialization.
    unsafe {
        match library {
            Library::Driver => {
                let query: One = symbol(handle, "cuDriverGetVersion")?;
                let text = match query(&mut a) {
                    0 => format!("{}.{}", a / 1000, a % 1000 / 10),
                    _ => String::new(),
                };
                Ok((text, query as usize))
            }
            Library::Nvrtc => {
                let query: Two = symbol(handle, "nvrtcVersion")?;
                let text = match query(&mut a, &mut b) {
                    0 => format!("{a}.{b}"),
                    _ => String::new(),
                };
                Ok((text, query as usize))
            }
            Library::CublasLt => {
                let query: Returned = symbol(handle, "cublasLtGetVersion")?;
                Ok((three_parts(query()), query as usize))
            }
            Library::Cudnn => {
                let query: Returned = symbol(handle, "cudnnGetVersion")?;
                Ok((three_parts(query()), query as usize))
            }
            Library::Nccl => {
                let query: One = symbol(handle, "ncclGetVersion")?;
                let text = match query(&mut a) {
                    0 => three_parts(usize::try_from(a).unwrap_or(0)),
                    _ => String::new(),
                };
                Ok((text, query as usize))
            }
        }
    }
}

/// Looks up a function.
///
/// # Safety
///
/// `F` must be the function's type.
pub(crate) unsafe fn symbol<F: Copy>(
    handle: &libloading::Library,
    name: &str,
) -> Result<F, String> {
    // SAFETY: the caller's promise.
    match unsafe { handle.get::<F>(name.as_bytes()) } {
        Ok(symbol) => Ok(*symbol),
        Err(_) => Err(format!("function {name} is missing")),
    }
}

fn three_parts(number: usize) -> String {
    format!(
        "{}.{}.{}",
        number / 10_000,
        number % 10_000 / 100,
        number % 100
    )
}

/// The file that is mapped at `address`, if the system reports it.
fn mapped_file(address: usize) -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let path = &rest[rest.find('/')?..];
        (start..end).contains(&address).then(|| PathBuf::from(path))
    })
}

/// Loads the builtins that NVRTC opens by name during compilation. Its search path finds them beside
/// it, unless a distribution has removed that path; then they must be loaded already.
fn keep_builtins(nvrtc: &std::path::Path, version: &str) {
    let Some(folder) = nvrtc.parent() else {
        return;
    };
    let builtins = folder.join(format!("libnvrtc-builtins.so.{version}"));
    if builtins.is_file()
        && let Ok(handle) = dlopen(builtins.as_os_str())
    {
        // Closing the handle would unload the library.
        std::mem::forget(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_the_loader_does_not_find_has_no_reason() {
        let candidate = Candidate {
            source: Source::Loader,
            target: LibraryFile::Name("libspikelet-is-not-a-library.so.1".to_string()),
        };
        assert!(matches!(load(Library::Nvrtc, &candidate), Err(None)));
    }

    #[test]
    fn a_library_with_a_missing_dependency_is_not_unknown() {
        let reason = "libdep.so.1: cannot open shared object file: No such file or directory";
        assert!(is_unknown("libdep.so.1", reason));
        if cfg!(target_os = "linux") {
            assert!(!is_unknown("libnvrtc.so.13", reason));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_not_a_library_is_rejected_with_the_loaders_message() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libnvrtc.so.13");
        std::fs::write(&path, "junk").unwrap();
        let candidate = Candidate {
            source: Source::CudaPath,
            target: LibraryFile::Path(path),
        };
        let refusal = load(Library::Nvrtc, &candidate).err().unwrap();
        assert_eq!(refusal.as_deref(), Some("file too short"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_library_of_the_right_name_is_rejected() {
        let candidate = Candidate {
            source: Source::Loader,
            target: LibraryFile::Name("libc.so.6".to_string()),
        };
        let refusal = load(Library::Nvrtc, &candidate).err().unwrap();
        assert_eq!(refusal.as_deref(), Some("function nvrtcVersion is missing"));
    }

    #[test]
    fn a_version_number_has_three_parts() {
        assert_eq!(three_parts(130_201), "13.2.1");
        assert_eq!(three_parts(91_002), "9.10.2");
        assert_eq!(three_parts(22_803), "2.28.3");
    }
}
