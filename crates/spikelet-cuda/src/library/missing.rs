//! The error of a missing library.

use super::{Library, LibraryFile};
use std::fmt;
use std::path::PathBuf;

/// A library that was not found, or whose files cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Missing {
    /// The library.
    pub library: Library,
    /// The folders that were searched after the loader.
    pub looked: Vec<PathBuf>,
    /// The files that exist but cannot be used.
    pub refused: Vec<Refused>,
    /// The command that installs it, or the address of a download.
    pub remedy: String,
}

/// A file of the right name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The file: a path, or a name that the loader resolves.
    pub target: LibraryFile,
    /// The loader's reason.
    pub reason: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.library.files().iter().map(|(name, _)| *name).collect();
        write!(f, "{} ({}) ", self.library, names.join(", "))?;
        if let Some(Refused { target, reason }) = self.refused.first() {
            write!(f, "cannot be used: {target}: {reason}")?;
            for Refused { target, reason } in &self.refused[1..] {
                write!(f, "; {target}: {reason}")?;
            }
        } else {
            f.write_str("was not found: neither by the loader")?;
            for (i, folder) in self.looked.iter().enumerate() {
                f.write_str(if i == 0 { ", nor in " } else { ", " })?;
                write!(f, "{}", folder.display())?;
            }
        }
        write!(f, "; {}", self.remedy)
    }
}

/// The command that installs `library` on a machine whose driver supports CUDA generation `driver`.
pub(super) fn remedy(library: Library, driver: Option<u32>) -> String {
    let old = driver == Some(12);
    let (pip, apt) = match (library, old) {
        (Library::Driver, _) => {
            return "install the driver from https://www.nvidia.com/drivers, or start the container \
                    with access to its GPUs (`docker run --gpus all`)"
                .to_string();
        }
        (Library::Nvrtc, false) => ("nvidia-cuda-nvrtc", "cuda-nvrtc-13-0"),
        (Library::Nvrtc, true) => ("nvidia-cuda-nvrtc-cu12", "cuda-nvrtc-12-9"),
        (Library::CublasLt, false) => ("nvidia-cublas", "libcublas-13-0"),
        (Library::CublasLt, true) => ("nvidia-cublas-cu12", "libcublas-12-9"),
        (Library::Cudnn, false) => ("nvidia-cudnn-cu13", "libcudnn9-cuda-13"),
        (Library::Cudnn, true) => ("nvidia-cudnn-cu12", "libcudnn9-cuda-12"),
        (Library::Nccl, false) => ("nvidia-nccl-cu13", "libnccl2"),
        (Library::Nccl, true) => ("nvidia-nccl-cu12", "libnccl2"),
    };
    format!("install it with `pip install {pip}` or `apt install {apt}`")
}
