//! The errors of readers, checks and writers of graphs.

use std::path::{Path, PathBuf};

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, and the file in which it occurred.
#[derive(Debug, thiserror::Error)]
#[error("{}{kind}", path.as_ref().map_or(String::new(), |path| format!("{}: ", path.display())))]
pub struct Error {
    /// The file; `None` for bytes and values in memory.
    pub path: Option<PathBuf>,
    /// The error.
    #[source]
    pub kind: Box<ErrorKind>,
}

/// An error. Every message names what was given, what was expected and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file is wrong, or it cannot be read or written.
    #[error(transparent)]
    File(#[from] spikelet_weights::ErrorKind),
    /// A node of a graph cannot be what it is.
    #[error("node `{node}`: {problem}\n  help: {help}")]
    Node {
        /// The path of the node: `sub/lif` is `lif` in the graph `sub`.
        node: String,
        /// What was found, and what was expected.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// An edge of a graph cannot be what it is.
    #[error("edge `{from}` -> `{to}`: {problem}\n  help: {help}")]
    Edge {
        /// The path of the source.
        from: String,
        /// The path of the target.
        to: String,
        /// What was found, and what was expected.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// A node gets a sequence of another shape than it takes.
    #[error(
        "edge `{from}` -> `{to}`: `{from}` gives {output:?}, `{to}` takes {input:?}\n  \
         help: correct the shape of a parameter or of an Input, or remove the edge"
    )]
    ShapeMismatch {
        /// The path of the source.
        from: String,
        /// Its output, without time and batch.
        output: Vec<usize>,
        /// The path of the target.
        to: String,
        /// Its input, without time and batch.
        input: Vec<usize>,
    },
}

impl spikelet_core::OtherError for Error {}

impl Error {
    /// The same error, in a file; an error that has a file keeps it.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self {
            path: None,
            kind: Box::new(kind),
        }
    }
}

impl From<spikelet_weights::Error> for Error {
    fn from(error: spikelet_weights::Error) -> Self {
        Self {
            path: error.path,
            kind: Box::new(ErrorKind::File(*error.kind)),
        }
    }
}
