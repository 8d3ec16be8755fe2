//! Columns of numbers in files, which become events.

use std::io::{self, Read, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use half::{bf16, f16};

use super::{Blocks, Container, Output, damaged};
use crate::arrays::npy::{self, Field};
use crate::arrays::{Number, Source, zip};
use crate::error::{Error, ErrorKind, Result};

/// The most events of a block.
const BLOCK: usize = 1 << 16;

/// A file from which several columns are read.
#[derive(Clone)]
pub(crate) struct SharedFile {
    file: Arc<Mutex<Box<dyn Container>>>,
    len: u64,
    format: &'static str,
}

impl SharedFile {
    pub fn new(format: &'static str, mut file: Box<dyn Container>) -> Result<Self> {
        let len = file.seek(SeekFrom::End(0)).map_err(|source| {
            let position = 0;
            ErrorKind::Read { position, source }
        })?;
        let file = Arc::new(Mutex::new(file));
        Ok(Self { file, len, format })
    }

    /// The bytes of a part.
    pub fn part(&self, position: u64, len: u64) -> impl Read + Send + use<> {
        let file = self.file.clone();
        FilePart { file, position }.take(len)
    }

    /// An error in the file.
    pub fn damaged(&self, offset: u64, problem: impl Into<String>) -> Error {
        damaged(self.format, offset, problem)
    }
}

impl Source for SharedFile {
    type Error = Error;

    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let is_inside = offset
            .checked_add(len as u64)
            .is_some_and(|end| end <= self.len);
        if !is_inside {
            let problem = format!("{len} bytes are expected, the file has {}", self.len);
            return Err(self.damaged(offset, problem));
        }
        let mut bytes = vec![0; len];
        let read = self.part(offset, len as u64).read_exact(&mut bytes);
        let position = offset;
        read.map_err(|source| ErrorKind::Read { position, source })?;
        Ok(bytes)
    }

    fn invalid(&self, offset: u64, problem: impl Into<String>, help: &'static str) -> Error {
        let (format, problem) = (self.format, problem.into());
        ErrorKind::Damaged {
            format,
            offset,
            problem,
            help,
        }
        .into()
    }
}

struct FilePart {
    file: Arc<Mutex<Box<dyn Container>>>,
    position: u64,
}

impl Read for FilePart {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.position))?;
        let read = file.read(bytes)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// A member of a zip file, whose checksum is compared at its end.
pub(crate) struct Member {
    bytes: Box<dyn Read + Send>,
    left: u64,
    crc: Crc,
    expected: u32,
}

impl Member {
    pub fn open(file: &SharedFile, entry: &zip::Entry) -> Result<Self> {
        let part = file.part(zip::data_offset(file, entry)?, entry.compressed);
        let bytes: Box<dyn Read + Send> = match entry.stored {
            true => Box::new(part),
            false => Box::new(DeflateDecoder::new(part)),
        };
        Ok(Self {
            bytes,
            left: entry.uncompressed,
            crc: Crc::new(),
            expected: entry.crc,
        })
    }
}

impl Read for Member {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = bytes
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.bytes.read(&mut bytes[..most])?;
        self.crc.update(&bytes[..read]);
        self.left -= read as u64;
        if read > 0 && self.left == 0 && self.crc.sum() != self.expected {
            let problem = "its checksum is wrong";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(read)
    }
}

/// The header of an array, from the start of its bytes, of which there are `len`.
pub(crate) fn read_header(
    file: &SharedFile,
    name: &str,
    bytes: &mut impl Read,
    len: u64,
) -> Result<(npy::Header, usize)> {
    let invalid = |problem: String| {
        let help = "save an array of numbers with `numpy.save` or `numpy.savez`";
        file.invalid(0, format!("{name}: {problem}"), help)
    };
    let mut start = Vec::new();
    let mut read = |start: &mut Vec<u8>, end: usize| {
        let missing = end.saturating_sub(start.len()) as u64;
        let read = bytes.take(missing).read_to_end(start);
        read.map_err(|error| invalid(error.to_string()))
    };
    read(&mut start, npy::START)?;
    let data = npy::data_start(&start).map_err(invalid)?;
    read(&mut start, data)?;
    let header = npy::header(&start).map_err(invalid)?;
    let needed = header.len().map(|len| (len * header.element_bytes) as u64);
    let there = len.saturating_sub(data as u64);
    if start.len() < data || needed.is_none_or(|needed| needed > there) {
        let problem = format!(
            "an array of shape {:?} and {} bytes an element; there are {there} bytes",
            header.shape, header.element_bytes
        );
        return Err(invalid(problem));
    }
    Ok((header, data))
}

/// A number of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Int(i64),
    Float(f64),
}

/// Numbers at equal distances in a stream of bytes.
pub(crate) struct Column {
    pub name: &'static str,
    bytes: Box<dyn Read + Send>,
    field: Field,
    /// The bytes from a number to the next.
    stride: usize,
    rows_before: u64,
    buffer: Vec<u8>,
}

impl Column {
    /// The numbers of a field, in elements of `stride` bytes.
    pub fn new(
        name: &'static str,
        bytes: impl Read + Send + 'static,
        field: Field,
        stride: usize,
    ) -> Self {
        Self {
            name,
            bytes: Box::new(bytes),
            field,
            stride,
            rows_before: 0,
            buffer: vec![],
        }
    }

    /// Gives the next numbers, with their rows, to a function.
    ///
    /// # Errors
    /// If the bytes end, are damaged, or the function finds a problem.
    pub fn each(
        &mut self,
        rows: usize,
        mut use_value: impl FnMut(Value) -> Result<(), String>,
    ) -> Result<(), String> {
        let name = self.name;
        self.buffer.resize(rows * self.stride, 0);
        let read = self.bytes.read_exact(&mut self.buffer);
        read.map_err(|error| format!("{name} cannot be read: {error}"))?;
        let before = self.rows_before;
        self.rows_before += rows as u64;
        let Field {
            number,
            big_endian,
            offset,
            ..
        } = self.field;
        let elements = self.buffer.chunks_exact(self.stride).enumerate();
        macro_rules! decode {
            ($type:ty, $convert:expr) => {
                for (row, element) in elements {
                    let bytes = element[offset..].first_chunk().copied().unwrap_or_default();
                    let value = match big_endian {
                        true => <$type>::from_be_bytes(bytes),
                        false => <$type>::from_le_bytes(bytes),
                    };
                    let used = $convert(value).and_then(&mut use_value);
                    used.map_err(|problem| {
                        format!("event {}: {name} {problem}", before + row as u64)
                    })?;
                }
            };
        }
        macro_rules! integer {
            ($type:ty) => {
                decode!($type, |value| Ok(Value::Int(i64::from(value))))
            };
        }
        match number {
            Number::U8 => integer!(u8),
            Number::I8 => integer!(i8),
            Number::U16 => integer!(u16),
            Number::I16 => integer!(i16),
            Number::U32 => integer!(u32),
            Number::I32 => integer!(i32),
            Number::I64 => integer!(i64),
            Number::U64 => decode!(u64, |value: u64| i64::try_from(value)
                .map(Value::Int)
                .map_err(|_| format!("{value} does not fit into 63 bits"))),
            Number::F16 => decode!(f16, |value| Ok(Value::Float(f64::from(value)))),
            Number::BF16 => decode!(bf16, |value| Ok(Value::Float(f64::from(value)))),
            Number::F32 => decode!(f32, |value| Ok(Value::Float(f64::from(value)))),
            Number::F64 => decode!(f64, |value| Ok(Value::Float(value))),
        }
        Ok(())
    }
}

/// A time in microseconds.
pub(crate) fn time(value: Value, microseconds: i64) -> Result<i64, String> {
    match value {
        Value::Int(value) => value
            .checked_mul(microseconds)
            .ok_or_else(|| format!("{value} is too large")),
        Value::Float(value) => {
            let time = value * microseconds as f64;
            // The limits are those of i64.
            match time.abs() < 9.2e18 {
                true => Ok(time as i64),
                false => Err(format!("{value} is no time")),
            }
        }
    }
}

/// A coordinate.
pub(crate) fn coordinate(value: Value) -> Result<u16, String> {
    match value {
        Value::Int(value) => {
            u16::try_from(value).map_err(|_| format!("{value} is not in 0 … 65535"))
        }
        Value::Float(value) => match value.fract() == 0.0 && (0.0..=65535.0).contains(&value) {
            true => Ok(value as u16),
            false => Err(format!("{value} is not an integer in 0 … 65535")),
        },
    }
}

/// A polarity: 0 or −1 (off), or 1 (on).
pub(crate) fn polarity(value: Value) -> Result<u8, String> {
    match value {
        Value::Int(value @ -1..=1) => Ok(u8::from(value == 1)),
        Value::Float(value) if [-1.0, 0.0, 1.0].contains(&value) => Ok(u8::from(value == 1.0)),
        Value::Int(value) => Err(format!("{value} is not 0 or 1")),
        Value::Float(value) => Err(format!("{value} is not 0 or 1")),
    }
}

/// The four columns of events.
pub(crate) struct Columns {
    pub format: &'static str,
    pub t: Column,
    pub x: Column,
    pub y: Column,
    /// The polarities, or one for all.
    pub p: Result<Column, u8>,
    /// The rows that were not read yet.
    pub left: usize,
    /// The microseconds of a unit of the time.
    pub microseconds: i64,
}

impl Blocks for Columns {
    fn next_block(&mut self, out: &mut Output) -> Result<bool> {
        let rows = self.left.min(BLOCK);
        self.left -= rows;
        let before = out.events.len();
        let (events, scale) = (&mut out.events, self.microseconds);
        macro_rules! read {
            ($name:ident, $convert:expr) => {
                |column: &mut Column| {
                    column.each(rows, |value| {
                        events.$name.push($convert(value)?);
                        Ok(())
                    })
                }
            };
        }
        let read = read!(t, |value| time(value, scale))(&mut self.t)
            .and_then(|()| read!(x, coordinate)(&mut self.x))
            .and_then(|()| read!(y, coordinate)(&mut self.y))
            .and_then(|()| match &mut self.p {
                Ok(p) => read!(p, polarity)(p),
                Err(p) => {
                    events.p.resize(before + rows, *p);
                    Ok(())
                }
            });
        read.map_err(|problem| {
            // The events of the block before the damage are whole in all columns.
            let [t, x, y, p] = [
                events.t.len(),
                events.x.len(),
                events.y.len(),
                events.p.len(),
            ];
            events.truncate(t.min(x).min(y).min(p));
            damaged(self.format, 0, problem)
        })?;
        Ok(self.left > 0)
    }
}

/// Events that were read at once.
pub(crate) struct Whole(pub crate::EventBuffer);

impl Blocks for Whole {
    fn next_block(&mut self, out: &mut Output) -> Result<bool> {
        out.events.extend(&self.0);
        self.0 = crate::EventBuffer::default();
        Ok(false)
    }
}
