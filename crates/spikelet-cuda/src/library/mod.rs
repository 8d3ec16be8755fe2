//! NVIDIA's shared libraries, found and loaded at run time.
//!
//! The program is built without CUDA and must start without it, so every library is searched for when it
//! is first needed: [`find`] returns its file, or an error with the command that installs it. The search
//! order is:
//!
//! 1. the dynamic loader, by name (`LD_LIBRARY_PATH`, `ld.so.cache`);
//! 2. `CUDA_PATH` and `CUDA_HOME`;
//! 3. the default folders of the toolkit and the driver, the newest toolkit first;
//! 4. the `nvidia/*/lib` folders of pip's packages in the active Python environment;
//! 5. `CONDA_PREFIX`.
//!
//! Libraries of a newer CUDA generation than the driver supports are tried last.
//!
//! ```
//! use spikelet_cuda::library::{self, Library};
//!
//! match library::find(Library::Nvrtc) {
//!     Ok(found) => println!("{found}"),
//!     Err(missing) => println!("{missing}"),
//! }
//! ```

pub(crate) mod driver;
mod folders;
pub(crate) mod functions;
mod gpu;
mod includes;
mod load;
mod missing;
mod places;
mod python;

pub use gpu::{Gpu, GpuError, gpus};
pub use missing::{Missing, Refused};
pub use places::{Candidate, Environment, LibraryFile, search_in};

pub(crate) use includes::beside;
pub(crate) use load::{driver_generation, open, symbol};

use std::fmt;
use std::path::PathBuf;

/// A shared library of NVIDIA's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// The driver, `libcuda`; required.
    Driver,
    /// The compiler, `libnvrtc`, with its `libnvrtc-builtins` beside it.
    Nvrtc,
    /// Matrix products, `libcublasLt`.
    CublasLt,
    /// Convolutions, `libcudnn`; optional.
    Cudnn,
    /// Collectives over several GPUs, `libnccl`; optional.
    Nccl,
}

impl Library {
    /// All libraries, the required ones first.
    pub const ALL: [Library; 5] = [
        Library::Driver,
        Library::Nvrtc,
        Library::CublasLt,
        Library::Cudnn,
        Library::Nccl,
    ];

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Library::Driver => "NVIDIA driver",
            Library::Nvrtc => "NVRTC",
            Library::CublasLt => "cuBLASLt",
            Library::Cudnn => "cuDNN",
            Library::Nccl => "NCCL",
        }
    }

    /// Whether a network runs on one GPU without it.
    pub fn is_optional(self) -> bool {
        matches!(self, Library::Cudnn | Library::Nccl)
    }

    /// Its file names, the newest generation first, each with the CUDA generation if the name has it.
    pub(crate) fn files(self) -> &'static [(&'static str, Option<u32>)] {
        match self {
            Library::Driver => &[("libcuda.so.1", None)],
            Library::Nvrtc => &[("libnvrtc.so.13", Some(13)), ("libnvrtc.so.12", Some(12))],
            Library::CublasLt => &[
                ("libcublasLt.so.13", Some(13)),
                ("libcublasLt.so.12", Some(12)),
            ],
            Library::Cudnn => &[("libcudnn.so.9", None)],
            Library::Nccl => &[("libnccl.so.2", None)],
        }
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of place where a library was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The dynamic loader found it by name.
    Loader,
    /// In a folder of `CUDA_PATH` or `CUDA_HOME`.
    CudaPath,
    /// In a default folder of the toolkit or the driver.
    Toolkit,
    /// In a package of the active Python environment.
    Python,
    /// In the active conda environment.
    Conda,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Loader => "loader",
            Source::CudaPath => "CUDA_PATH",
            Source::Toolkit => "toolkit",
            Source::Python => "Python",
            Source::Conda => "conda",
        })
    }
}

/// A library that was found and is loaded for the rest of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The library.
    pub library: Library,
    /// The loaded file, with links resolved if the system reports it.
    pub path: PathBuf,
    /// Its version, such as `13.0`; for the driver, the CUDA version that it supports.
    pub version: Option<String>,
    /// Where it was found.
    pub source: Source,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.library)?;
        if let Some(version) = &self.version {
            write!(f, " {version}")?;
        }
        write!(f, " ({}): {}", self.source, self.path.display())
    }
}

/// Finds a library and loads it for the rest of the process.
///
/// The first call searches; later calls return its result.
///
/// # Errors
///
/// [`Missing`] if it is not found, or no file of its name can be loaded, with the searched folders and
/// the command that installs it.
pub fn find(library: Library) -> Result<&'static Found, Missing> {
    open(library).map(|loaded| &loaded.found)
}

/// Finds and loads every library, in the order of [`Library::ALL`].
pub fn survey() -> Vec<(Library, Result<Found, Missing>)> {
    Library::ALL
        .into_iter()
        .map(|library| (library, find(library).cloned()))
        .collect()
}
