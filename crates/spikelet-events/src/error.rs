//! The errors of readers.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Format, Sensor};

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a reader, and the file in which it occurred.
#[derive(Debug, thiserror::Error)]
#[error("{}{kind}", path.as_ref().map_or(String::new(), |path| format!("{}: ", path.display())))]
pub struct Error {
    /// The file; `None` for streams.
    pub path: Option<PathBuf>,
    /// The error.
    #[source]
    pub kind: Box<ErrorKind>,
}

/// An error of a reader. Every message names what was given, what was expected and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be opened.
    #[error("cannot open it: {0}\n  help: check the path and its permissions")]
    Open(io::Error),
    /// Reading failed.
    #[error(
        "cannot read on after {position} bytes: {source}\n  help: copy or download the file again"
    )]
    Read {
        /// The bytes that were read.
        position: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// The format of the content is not known.
    #[error("{problem}\n  help: name the format; known formats: {}", crate::Format::NAMES.join(", "))]
    UnknownFormat {
        /// What was found.
        problem: String,
    },
    /// The bytes do not follow the format.
    #[error("{format}, byte {offset}: {problem}\n  help: {help}")]
    Damaged {
        /// The name of the format.
        format: &'static str,
        /// The position of the damaged part.
        offset: u64,
        /// What was found, and what was expected.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// An event is outside the sensor.
    #[error(
        "event {event}: {axis} {value} >= {limit}, but the sensor has {sensor} pixels\n  \
         help: the sensor has another size, or the file is damaged"
    )]
    Outside {
        /// The number of the event, from 0.
        event: u64,
        /// `x` or `y`.
        axis: &'static str,
        /// The coordinate.
        value: u16,
        /// The size of the sensor on this axis.
        limit: u32,
        /// The size of the sensor.
        sensor: Sensor,
    },
    /// Writing failed.
    #[error("cannot write it: {0}\n  help: check the folder, its permissions and the free space")]
    Write(io::Error),
    /// A format is only read.
    #[error(
        "{format} files can be read, not written\n  help: choose one of {}",
        writable()
    )]
    NotWritable {
        /// The format.
        format: Format,
    },
    /// A format cannot hold the coordinates of a sensor.
    #[error(
        "{format} holds sensors of up to {limit} pixels, not {sensor}\n  help: choose another format"
    )]
    UnwritableSensor {
        /// The format.
        format: Format,
        /// The size of the sensor.
        sensor: Sensor,
        /// The largest size of the format.
        limit: Sensor,
    },
    /// A format cannot hold an event.
    #[error(
        "{format} cannot hold event {event}: {problem}\n  help: correct the event, or choose another format"
    )]
    Unwritable {
        /// The format.
        format: Format,
        /// The number of the event, from 0.
        event: u64,
        /// The value that it cannot hold, and what it can.
        problem: String,
    },
}

fn writable() -> String {
    let formats = Format::ALL.iter().filter(|format| format.is_writable());
    let names: Vec<_> = formats.map(|format| format.name()).collect();
    names.join(", ")
}

impl Error {
    /// The same error, in a file.
    #[must_use]
    pub(crate) fn in_file(mut self, path: &Path) -> Self {
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
