//! NVIDIA's shared libraries, found and loaded at run time.
//!
//! The program is built without CUDA and must start without it, so every library is looked for
//! when it is first needed: [`find`] says where it is, or what is missing and which command
//! brings it. The places, in this order:
//!
//! 1. what the dynamic loader finds by name (`LD_LIBRARY_PATH`, `ld.so.cache`);
//! 2. `CUDA_PATH` and `CUDA_HOME`;
//! 3. the toolkit's and the driver's usual folders, the newest toolkit first;
//! 4. the `nvidia/*/lib` folders that pip makes in the active Python environment;
//! 5. `CONDA_PREFIX`.
//!
//! A library of a newer CUDA generation than the driver supports comes last, wherever it is.
//!
//! # Libraries that cudarc opens
//!
//! cudarc opens the driver and cuBLASLt by itself, by name, and panics where it finds none. A
//! library found in a folder is therefore loaded first, by its path, and stays loaded: the loader
//! then knows it by the name that cudarc asks for. What the loader knows by name already is what
//! cudarc takes whatever else there is, so for these two the names go first in cudarc's order.
//! Call [`find`] before the first use of a cudarc module.
//!
//! ```
//! use spikelet_cuda::library::{self, Library};
//!
//! match library::find(Library::Nvrtc) {
//!     Ok(found) => println!("{found}"),
//!     Err(missing) => println!("{missing}"),
//! }
//! ```

mod gpu;
mod includes;
mod load;
mod missing;
mod places;
mod python;

pub use gpu::{Gpu, GpuError, gpus};
pub use missing::{Missing, Refused};
pub use places::{Candidate, Environment, LibraryFile};

pub(crate) use includes::beside;
pub(crate) mod functions;

pub(crate) use load::{Loaded, open, symbol};

use std::fmt;
use std::path::PathBuf;

/// A shared library of NVIDIA's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// The driver, `libcuda`: without it there is no GPU.
    Driver,
    /// The compiler, `libnvrtc`, with its `libnvrtc-builtins` beside it.
    Nvrtc,
    /// Matrix products, `libcublasLt`.
    CublasLt,
    /// Convolutions, `libcudnn`; optional.
    Cudnn,
    /// Several GPUs together, `libnccl`; optional.
    Nccl,
}

impl Library {
    /// Every library, the needed ones first.
    pub const ALL: [Library; 5] = [
        Library::Driver,
        Library::Nvrtc,
        Library::CublasLt,
        Library::Cudnn,
        Library::Nccl,
    ];

    /// What people call it.
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

    /// The file names it has, the newest generation first, each with the CUDA generation that it
    /// belongs to where the name says it.
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

/// Where a library was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The dynamic loader knew it by name.
    Loader,
    /// In a folder of `CUDA_PATH` or `CUDA_HOME`.
    CudaPath,
    /// In a folder where the toolkit or the driver is usually installed.
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
    /// Which library it is.
    pub library: Library,
    /// The file that is loaded, links resolved where the system tells.
    pub path: PathBuf,
    /// Its version, such as `13.0`; of the driver, the CUDA version that it supports.
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
/// The first call looks, all others return what it found.
///
/// # Errors
///
/// [`Missing`] if it is nowhere, or if no file of its name can be loaded: where it was looked for
/// and the command that brings it.
pub fn find(library: Library) -> Result<&'static Found, Missing> {
    open(library).map(|loaded| &loaded.found)
}

/// Every library, found or missing, in the order of [`Library::ALL`].
///
/// All that are found are loaded.
pub fn survey() -> Vec<(Library, Result<Found, Missing>)> {
    Library::ALL
        .into_iter()
        .map(|library| (library, find(library).cloned()))
        .collect()
}
