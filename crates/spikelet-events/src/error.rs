//! The errors of readers.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Format, Sensor};
use spikelet_schema::UnknownName;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a reader, and the file in which it occurred.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}{kind}{}",
    path.as_ref().map_or(String::new(), |path| format!("{}: ", path.display())),
    by_name.map_or(String::new(), |format| format!("; it was read as {format} because of its name: if it has another format, name that"))
)]
pub struct Error {
    /// The file; `None` for streams.
    pub path: Option<PathBuf>,
    /// The format of a damaged file, if only the extension tells it.
    pub by_name: Option<Format>,
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
    #[error(
        "{problem}\n  help: name the format; known formats: {}; of many recordings: packs (.events), spiking audio (.h5)",
        crate::Format::NAMES.join(", ")
    )]
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
        "event {event}: {axis} {value} >= {limit}, but the sensor has {sensor}\n  help: {}",
        outside_help(*transposed)
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
        /// The transposed size, if it has the event and those around it.
        transposed: Option<Sensor>,
    },
    /// A folder does not have the files of a data set.
    #[error("not as {set} is laid out: found {found}; expected {expected}\n  help: {help}")]
    Layout {
        /// The name of the data set.
        set: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
        /// Where to get the files.
        help: String,
    },
    /// A file of a data set is not the published one.
    #[error(
        "its MD5 checksum is {found}; the published one is {expected}\n  help: download it again"
    )]
    Checksum {
        /// The checksum of the file.
        found: String,
        /// The published one.
        expected: &'static str,
    },
    /// A file of a data set can only be got with a browser.
    #[error(
        "{set}: `{file}` has no address for programs\n  help: get it from {page} with a browser, and unpack it"
    )]
    NoAddress {
        /// The data set.
        set: &'static str,
        /// The file.
        file: &'static str,
        /// The page that has it.
        page: &'static str,
    },
    /// A data set has no such sample.
    #[error("{set} has no sample {index}: it has {len}\n  help: indices begin at 0")]
    NoSample {
        /// The name of the data set.
        set: String,
        /// The index.
        index: usize,
        /// The number of samples.
        len: usize,
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
    #[error("{format} holds sensors of up to {limit}, not {sensor}\n  help: choose another format")]
    UnwritableSensor {
        /// The format.
        format: Format,
        /// The size of the sensor.
        sensor: Sensor,
        /// The largest size of the format.
        limit: Sensor,
    },
    /// A format cannot hold an event.
    #[error("{format} cannot hold event {event}: {problem}\n  help: {help}")]
    Unwritable {
        /// The name of the format.
        format: &'static str,
        /// The number of the event, from 0.
        event: u64,
        /// The value that it cannot hold, and what it can.
        problem: String,
        /// What to do.
        help: &'static str,
    },
    /// A setting of a transform or of frames is out of range.
    #[error("{of}: {field} is {given}; expected {expected}\n  help: change {field}")]
    Setting {
        /// The name of the transform or slicing.
        of: &'static str,
        /// The field.
        field: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        expected: String,
    },
    /// A name is not known.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// Times decrease where an order is needed.
    #[error(
        "{of} needs sorted times, but event {event} is at {time} us, after one at {before} us\n  \
         help: sort the events with the transform `sort-by-time`, or use slices by number of events"
    )]
    Unsorted {
        /// What needs the order.
        of: &'static str,
        /// The number of the event, from 0.
        event: usize,
        /// Its time.
        time: i64,
        /// The time of the event before.
        before: i64,
    },
    /// The columns of events have different lengths.
    #[error(
        "columns of events have different lengths: t {}, x {}, y {}, p {}\n  help: an event has a value in each column",
        lens[0], lens[1], lens[2], lens[3]
    )]
    Columns {
        /// The lengths of `t`, `x`, `y`, `p`.
        lens: [usize; 4],
    },
    /// A result would be too large.
    #[error("{of} would have {given} {unit}; the limit is {limit}\n  help: {help}")]
    TooLarge {
        /// The name of what is too large.
        of: &'static str,
        /// Its size.
        given: String,
        /// What is counted.
        unit: &'static str,
        /// The largest size.
        limit: usize,
        /// What to do.
        help: &'static str,
    },
    /// A buffer has another length than what is written into it.
    #[error(
        "{of} writes {expected} elements, but the buffer has {given}\n  help: allocate the product of `shape`"
    )]
    BufferLength {
        /// What writes.
        of: &'static str,
        /// The length of the buffer.
        given: usize,
        /// The length that is needed.
        expected: usize,
    },
    /// Events at a single time have no duration.
    #[error(
        "{of} needs events at more than one time; all {events} events are at {time} us\n  help: leave this recording out, or use frames of counts"
    )]
    NoDuration {
        /// What needs a duration.
        of: &'static str,
        /// The number of events.
        events: usize,
        /// Their time.
        time: i64,
    },
}

fn writable() -> String {
    let formats = Format::ALL.iter().filter(|format| format.is_writable());
    let names: Vec<_> = formats.map(|format| format.name()).collect();
    names.join(", ")
}

impl Error {
    /// An error in the bytes of a file.
    pub(crate) fn damaged(
        format: &'static str,
        offset: u64,
        problem: impl Into<String>,
        help: &'static str,
    ) -> Self {
        ErrorKind::Damaged {
            format,
            offset,
            problem: problem.into(),
            help,
        }
        .into()
    }

    /// The same error, in a file.
    #[must_use]
    pub(crate) fn in_file(mut self, path: &Path) -> Self {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }
}

/// The help of an event outside of the sensor.
fn outside_help(transposed: Option<Sensor>) -> String {
    match transposed {
        None => "the sensor has another size, or the file is damaged".into(),
        Some(sensor) => format!(
            "the size is perhaps transposed, since {sensor} has the event: a sensor is given as width × height, such as \
             {}x{} or [{}, {}]",
            sensor.width, sensor.height, sensor.width, sensor.height
        ),
    }
}

impl From<UnknownName> for Error {
    fn from(error: UnknownName) -> Self {
        ErrorKind::from(error).into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self {
            path: None,
            by_name: None,
            kind: Box::new(kind),
        }
    }
}
