//! The library's errors.

use crate::files::FileError;
use crate::log::console::bytes;
use crate::parallel::RankError;
use crate::train::{CheckpointError, RunFolderError};
use std::fmt;
use std::path::PathBuf;

/// What can go wrong when a network is built, trained or stored.
///
/// `Debug` prints the message, too: it is what a program shows whose `main` returns a [`Result`].
#[derive(thiserror::Error)]
pub enum Error {
    /// In tracing, planning or running a network.
    #[error(transparent)]
    Graph(#[from] spikelet_graph::Error),
    /// In reading or writing a file.
    #[error(transparent)]
    File(#[from] FileError),
    /// In a kernel of [`auto_cuda`](crate::auto_cuda).
    #[error(transparent)]
    AutoCuda(Box<spikelet_cuda::auto_cuda::AutoCudaError>),
    /// In a data set.
    #[error(transparent)]
    Data(Box<spikelet_data::Error>),
    /// A value that a user gave is not one that can be used.
    #[error("{what}: {problem}\n  help: {help}")]
    Invalid {
        /// The setting, argument or file.
        what: String,
        /// What was given and what was expected.
        problem: String,
        /// What to do.
        help: String,
    },
    /// A program that needs more memory than its device has; nothing was allocated for it.
    #[error(
        "{program} needs {} of memory on {device}, {} of {} are free\n  help: {help}",
        bytes(*.needed as u64), bytes(*.available as u64), bytes(*.total as u64)
    )]
    Memory {
        /// What does not fit.
        program: String,
        /// The device's name.
        device: String,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that nobody uses.
        available: usize,
        /// Bytes that there are.
        total: usize,
        /// What to do.
        help: String,
    },
    /// A checkpoint that does not fit, or whose contents cannot be.
    #[error(transparent)]
    UnfitCheckpoint(Box<CheckpointError>),
    /// The folder of a run.
    #[error(transparent)]
    RunFolder(Box<RunFolderError>),
    /// The end of a run of several ranks.
    #[error(transparent)]
    Rank(Box<RankError>),
    /// A tensor file that does not fit.
    #[error("{}: {problem}\n  help: {help}", .path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
        /// What to do.
        help: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<RunFolderError> for Error {
    fn from(error: RunFolderError) -> Self {
        Self::RunFolder(Box::new(error))
    }
}

impl From<RankError> for Error {
    fn from(error: RankError) -> Self {
        Self::Rank(Box::new(error))
    }
}

impl From<spikelet_data::Error> for Error {
    fn from(error: spikelet_data::Error) -> Self {
        Self::Data(Box::new(error))
    }
}

impl From<spikelet_cuda::auto_cuda::AutoCudaError> for Error {
    fn from(error: spikelet_cuda::auto_cuda::AutoCudaError) -> Self {
        Self::AutoCuda(Box::new(error))
    }
}

impl Error {
    /// An [`Error::Invalid`].
    pub fn invalid(
        what: impl Into<String>,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Invalid {
            what: what.into(),
            problem: problem.into(),
            help: help.into(),
        }
    }
}

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_with_an_error_shows_its_message() {
        let invalid = Error::invalid(
            "linear `1`",
            "expects 784 features",
            "put a Flatten before it",
        );
        let message = "linear `1`: expects 784 features\n  help: put a Flatten before it";
        assert_eq!(format!("{invalid:?}"), message);
        let graph = Error::from(spikelet_graph::Error::Plan {
            problem: "too small".to_string(),
        });
        assert_eq!(format!("{graph:?}"), "the plan cannot be loaded: too small");
    }
}
