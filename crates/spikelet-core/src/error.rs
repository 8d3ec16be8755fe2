//! The error type of the crates above the graph.

use crate::files::FileError;
use crate::human::bytes;
use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;

/// An error in building, training or storing a network.
///
/// Errors that belong to one crate (a checkpoint that does not match, a failed rank, …) are
/// [`Error::Other`]; [`Error::downcast_ref`] returns their type. `Debug` prints the message too, so that
/// a program whose `main` returns a [`Result`] prints it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Tracing, planning or running a graph failed.
    #[error(transparent)]
    Graph(#[from] spikelet_graph::Error),
    /// Reading or writing a file failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A data set cannot be read.
    #[cfg(feature = "data")]
    #[error(transparent)]
    Data(Box<spikelet_data::Error>),
    /// An invalid value.
    #[error("{what}: {problem}\n  help: {help}")]
    Invalid {
        /// The setting, argument or file.
        what: String,
        /// What was given and what was expected.
        problem: String,
        /// What to do.
        help: String,
    },
    /// A program needs more memory than its device has. Nothing was allocated.
    #[error(
        "{program} needs {} of memory on {device}, {} of {} are free\n  help: {help}",
        bytes(*.needed as u64), bytes(*.available as u64), bytes(*.total as u64)
    )]
    Memory {
        /// The program.
        program: String,
        /// The name of the device.
        device: String,
        /// The required bytes.
        needed: usize,
        /// The free bytes.
        available: usize,
        /// The total bytes of the device.
        total: usize,
        /// What to do.
        help: String,
    },
    /// A tensor file that does not match.
    #[error("{}: {problem}\n  help: {help}", .path.display())]
    TensorFile {
        /// The file.
        path: PathBuf,
        /// The mismatch.
        problem: String,
        /// What to do.
        help: String,
    },
    /// An error of another crate.
    #[error(transparent)]
    Other(Box<dyn StdError + Send + Sync>),
}

/// An error that becomes [`Error::Other`] where a function returns [`Error`].
pub trait OtherError: StdError + Send + Sync + 'static {}

impl<E: OtherError> From<E> for Error {
    fn from(error: E) -> Self {
        Self::other(error)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "data")]
impl From<spikelet_data::Error> for Error {
    fn from(error: spikelet_data::Error) -> Self {
        Self::Data(Box::new(error))
    }
}

#[cfg(feature = "data")]
impl OtherError for spikelet_events::Error {}

impl OtherError for spikelet_schema::document::DocumentError {}

impl OtherError for spikelet_schema::UnknownName {}

impl Error {
    /// An [`Error::Other`].
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }

    /// The error of another crate, if it is an [`Error::Other`] of type `E`, or else this error.
    ///
    /// # Errors
    /// This error, if it is another one.
    pub fn downcast<E: StdError + 'static>(self) -> Result<E> {
        match self {
            Self::Other(error) => error.downcast().map(|error| *error).map_err(Self::Other),
            other => Err(other),
        }
    }

    /// The error of another crate, if it is an [`Error::Other`] of type `E`.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        match self {
            Self::Other(error) => error.downcast_ref(),
            _ => None,
        }
    }

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
