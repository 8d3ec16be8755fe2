//! The formats, one in each file.
//!
//! A format of records or packets is a [`Decoder`], which is given pieces of the file: the same code reads files, sockets and
//! standard input. A container that must be searched, such as a zip file, is a [`Blocks`].

pub(crate) mod aedat1;
pub(crate) mod aedat2;
pub(crate) mod aedat3;
pub(crate) mod aedat4;
pub(crate) mod atis;
mod clock;
mod columns;
pub(crate) mod csv;
pub(crate) mod dat;
mod dvs128;
pub(crate) mod es;
mod evt;
pub(crate) mod evt2;
pub(crate) mod evt21;
pub(crate) mod evt3;
mod evt3_encoder;
mod header_lines;
pub(crate) mod mat;
pub(crate) mod member;
pub(crate) mod npy;
pub(crate) mod npz;
mod npz_encoder;
mod prophesee;
pub(crate) mod shared_file;

use std::io::{Read, Seek};
use std::ops::Range;

use crate::error::{Error, Result};
use crate::{EventBuffer, Faults, Options, Sensor, Trigger, WriteOptions};

/// What is known of a format.
pub(crate) struct Entry {
    /// The extensions of file names, without the dot. Empty if only content tells the format.
    pub extensions: &'static [&'static str],
    /// Whether a file that begins so has this format for certain.
    pub detect: fn(&[u8]) -> bool,
    /// How a file is read.
    pub open: Open,
    /// How a file is written, if it can be.
    pub encoder: Option<NewEncoder>,
}

/// How a file of a format is read.
pub(crate) enum Open {
    /// From its beginning to its end.
    Stream(fn(&Options) -> Result<Box<dyn Decoder>>),
    /// With random access.
    Container(OpenContainer),
}

/// Opens a container.
pub(crate) type OpenContainer = fn(Box<dyn Container>, &Options) -> Result<Box<dyn Blocks>>;

/// An encoder; the header is appended to the bytes.
pub(crate) type NewEncoder = fn(&WriteOptions, &mut Vec<u8>) -> Result<Box<dyn Encoder>>;

/// A file with random access.
pub(crate) trait Container: Read + Seek + Send {}

impl<R: Read + Seek + Send> Container for R {}

/// A recording that is read in blocks.
pub(crate) trait Blocks: Send {
    /// Appends the next events to `out`; `false` at the end. Before an error, what is whole was appended.
    fn next_block(&mut self, out: &mut Output) -> Result<bool>;

    /// The number of events that a file of this many bytes usually has at most: memory is reserved for them.
    fn most_events(&self, bytes: u64) -> usize;

    /// The size of the sensor, once it is known.
    fn sensor(&self) -> Option<Sensor> {
        None
    }
}

/// A format that is decoded from its beginning to its end, in pieces of any size.
pub(crate) trait Decoder: Send {
    /// Decodes all whole records at the start of `input` and appends their events; gives the number of bytes that they
    /// have. With 0, the next call has more bytes, or `is_last`. Before an error, what is whole was appended.
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize>;

    /// The size of the sensor, once the header was decoded.
    fn sensor(&self) -> Option<Sensor> {
        None
    }

    /// The bytes of an event, or few if they vary.
    fn event_bytes(&self) -> usize {
        5
    }
}

/// A format that is written from its beginning to its end.
pub(crate) trait Encoder: Send {
    /// Appends the bytes of events, which are inside the sensor and have the polarities 0 and 1. An encoder may hold
    /// events back.
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable>;

    /// Appends what ends the file.
    fn finish(&mut self, _out: &mut Vec<u8>) {}
}

/// Part of an [`EventBuffer`]. All columns have the same length.
#[derive(Clone, Copy)]
pub(crate) struct Events<'a> {
    pub t: &'a [i64],
    pub x: &'a [u16],
    pub y: &'a [u16],
    pub p: &'a [u8],
}

impl<'a> Events<'a> {
    /// Part of these events.
    pub fn part(&self, range: Range<usize>) -> Self {
        Self {
            t: &self.t[range.clone()],
            x: &self.x[range.clone()],
            y: &self.y[range.clone()],
            p: &self.p[range],
        }
    }

    /// The events, each as (t, x, y, p).
    pub fn iter(&self) -> impl Iterator<Item = (i64, u16, u16, u8)> + use<'a> {
        let (t, x, y, p) = (self.t.iter(), self.x.iter(), self.y.iter(), self.p.iter());
        let columns = t.zip(x).zip(y).zip(p);
        columns.map(|(((&t, &x), &y), &p)| (t, x, y, p))
    }
}

impl<'a> From<&'a EventBuffer> for Events<'a> {
    fn from(events: &'a EventBuffer) -> Self {
        Self {
            t: &events.t,
            x: &events.x,
            y: &events.y,
            p: &events.p,
        }
    }
}

/// An event that a format cannot hold.
#[derive(Debug)]
pub(crate) struct Unwritable {
    /// The position of the event among those of the call.
    pub at: usize,
    /// The value that the format cannot hold, and what it can.
    pub problem: String,
    /// What to do.
    pub help: &'static str,
}

impl Unwritable {
    /// What to do with most events.
    pub const CORRECT: &str = "correct the event, or choose another format";

    /// A value of the event `at` of the call.
    pub fn value(at: usize, problem: String) -> Self {
        let help = Self::CORRECT;
        Self { at, problem, help }
    }

    /// A time beyond those of the format, such as one since 1970.
    pub fn time(at: usize, problem: String) -> Self {
        let help = "shift all times so that the first is 0 (`spikelet convert --from-zero`), or choose another format";
        Self { at, problem, help }
    }
}

/// A piece of a file.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    /// The bytes that were not decoded yet.
    pub bytes: &'a [u8],
    /// The position of the first of them in the file.
    pub position: u64,
    /// Whether the file ends behind them.
    pub is_last: bool,
}

impl Input<'_> {
    /// The number of bytes in whole records of `size` bytes.
    ///
    /// # Errors
    /// If the file ends inside a record.
    pub fn check_end(&self, format: &'static str, size: usize, whole: usize) -> Result<()> {
        let rest = self.bytes.len() - whole;
        if !self.is_last || rest == 0 {
            return Ok(());
        }
        let end = self.position + self.bytes.len() as u64;
        let problem = format!(
            "the file ends inside a record: it has {rest} of the {size} bytes, and {end} bytes in all"
        );
        Err(damaged(format, self.position + whole as u64, problem))
    }
}

/// What was decoded and not given out yet.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// The number of events that were given out before this block.
    pub before: u64,
    /// The events: those of the block are appended to those before `start`, which are of the caller.
    pub events: EventBuffer,
    /// The position in `events` of the first event of the block.
    pub start: usize,
    /// The triggers.
    pub triggers: Vec<Trigger>,
    /// The faults of the whole recording.
    pub faults: Faults,
}

impl Output {
    /// The number of events of the block.
    pub fn len(&self) -> usize {
        self.events.len() - self.start
    }
}

/// An error in the bytes of a file.
pub(crate) fn damaged(format: &'static str, offset: u64, problem: impl Into<String>) -> Error {
    let help = "copy or download the file again; what is before this place can be read";
    Error::damaged(format, offset, problem, help)
}
