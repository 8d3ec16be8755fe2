//! The errors of readers and writers of files.

use std::io;
use std::path::{Path, PathBuf};

use crate::dtype::Dtype;

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
    /// A file cannot be opened.
    #[error("cannot open it: {0}\n  help: check the path and its permissions")]
    Open(io::Error),
    /// Reading failed.
    #[error("cannot read it: {0}\n  help: copy or download the file again")]
    Read(io::Error),
    /// Writing failed.
    #[error("cannot write it: {0}\n  help: check the folder, its permissions and the free space")]
    Write(io::Error),
    /// The content is of another format, or of none that is known.
    #[error("this is {found}; expected {expected}\n  help: {help}")]
    Format {
        /// The format that was found, in words.
        found: String,
        /// What was expected.
        expected: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// The bytes do not follow the format.
    #[error("{format}, {place}: {problem}\n  help: {help}")]
    Damaged {
        /// The name of the format.
        format: &'static str,
        /// The position, record or object.
        place: String,
        /// What was found, and what was expected.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// The content takes more memory than is allowed.
    #[error(
        "{of} takes {bytes} bytes; a file of this size may have {limit}\n  \
         help: the file is damaged, or very large: raise `Limits::bytes` then"
    )]
    TooLarge {
        /// The tensor, dataset or record.
        of: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A pickle refers to a function or class that is not a tensor or container.
    #[error(
        "{place}: the pickle refers to `{name}`, which is never imported or called\n  \
         help: load the file in a program that trusts it, and save only its state_dict()"
    )]
    ForbiddenGlobal {
        /// The record and the position in it.
        place: String,
        /// Module and name.
        name: String,
    },
    /// A tensor of a file cannot be what it is.
    #[error("tensor `{tensor}`: {problem}\n  help: {help}")]
    Tensor {
        /// The name of the tensor.
        tensor: String,
        /// What was found, and what was expected.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// A checkpoint has no state dict, or several.
    #[error("{problem}; the file holds {found}\n  help: {help}")]
    StateDict {
        /// What is missing or ambiguous.
        problem: &'static str,
        /// The content of the file in place of a state dict.
        found: String,
        /// What to do.
        help: &'static str,
    },
    /// Names cannot be changed as was asked for.
    #[error("{problem}\n  help: {help}")]
    Names {
        /// The names, and why.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// A shape and the bytes of a tensor do not agree.
    #[error("{bytes} bytes are given for a tensor of {dtype} {shape:?}\n  help: give the product of the shape, times {} bytes", dtype.bytes())]
    TensorLength {
        /// The type of the elements.
        dtype: Dtype,
        /// The shape.
        shape: Vec<usize>,
        /// The number of bytes that were given.
        bytes: usize,
    },
}

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
