//! The library's errors.

use crate::files::FileError;
use crate::parallel::RankError;
use std::path::PathBuf;

/// What can go wrong when a network is built, trained or stored.
#[derive(Debug, thiserror::Error)]
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
    /// The end of a run of several ranks.
    #[error(transparent)]
    Rank(Box<RankError>),
    /// A checkpoint or tensor file that does not fit.
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
