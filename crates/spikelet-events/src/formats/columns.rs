//! Columns of numbers in files, which become events.

use std::io::Read;

use half::{bf16, f16};

use super::shared_file::SharedFile;
use super::{Blocks, Output, damaged};
use crate::EventBuffer;
use crate::error::Result;
use spikelet_weights::arrays::npy::{self, Field};
use spikelet_weights::arrays::{Number, Source as _};

/// The most events of a block.
const BLOCK: usize = 1 << 16;

/// The largest size of a large array as a multiple of its compressed size: events are not compressed further.
pub(super) const MAX_EXPANSION: u64 = 200;

/// Where the bytes of an array are.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The position of the first in the file.
    pub position: u64,
    /// Whether they are not compressed.
    pub is_plain: bool,
}

impl Place {
    /// The place behind some bytes, as far as it is known.
    pub fn after(self, bytes: u64) -> Self {
        match self.is_plain {
            true => Self {
                position: self.position + bytes,
                ..self
            },
            false => self,
        }
    }
}

/// The header of an array, from the start of its bytes, of which there are `len`.
pub(crate) fn read_header(
    file: &SharedFile,
    name: &str,
    place: Place,
    bytes: &mut impl Read,
    len: u64,
) -> Result<(npy::Header, usize)> {
    let invalid = |problem: String| {
        let help = "save an array of numbers with `numpy.save` or `numpy.savez`";
        file.invalid(place.position, format!("{name}: {problem}"), help)
    };
    let mut start = Vec::new();
    let mut read = |start: &mut Vec<u8>, end: usize| {
        let missing = end.saturating_sub(start.len()) as u64;
        let read = bytes.take(missing).read_to_end(start);
        read.map_err(|error| invalid(error.to_string()))
    };
    read(&mut start, npy::START)?;
    let data = npy::data_start(&start).map_err(|problem| invalid(problem.to_string()))?;
    read(&mut start, data)?;
    let header = npy::header(&start).map_err(|problem| invalid(problem.to_string()))?;
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
    place: Place,
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
        place: Place,
        field: Field,
        stride: usize,
    ) -> Self {
        Self {
            name,
            bytes: Box::new(bytes),
            place,
            field,
            stride,
            rows_before: 0,
            buffer: vec![],
        }
    }

    /// Gives the next numbers to a function.
    ///
    /// # Errors
    /// If the bytes end, are damaged, or the function finds a problem: its position in the file and the problem.
    pub fn each(
        &mut self,
        rows: usize,
        mut use_value: impl FnMut(Value) -> Result<(), String>,
    ) -> Result<(), (u64, String)> {
        let name = self.name;
        self.buffer.resize(rows * self.stride, 0);
        let read = self.bytes.read_exact(&mut self.buffer);
        let before = self.rows_before;
        let stride = self.stride as u64;
        let place = |row: u64| self.place.after(row * stride).position;
        read.map_err(|error| (place(before), format!("{name} cannot be read: {error}")))?;
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
                        let row = before + row as u64;
                        (place(row), format!("event {row}: {name} {problem}"))
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
        read.map_err(|(position, problem)| {
            // The events of the block before the damage are whole in all columns.
            let [t, x, y, p] = [
                events.t.len(),
                events.x.len(),
                events.y.len(),
                events.p.len(),
            ];
            events.truncate(t.min(x).min(y).min(p));
            damaged(self.format, position, problem)
        })?;
        Ok(self.left > 0)
    }

    fn most_events(&self, bytes: u64) -> usize {
        // Compressed members may have fewer than their headers say.
        self.left.min(bytes as usize / 3)
    }
}

/// Events that were read at once.
pub(crate) struct Whole(pub EventBuffer);

impl Blocks for Whole {
    fn next_block(&mut self, out: &mut Output) -> Result<bool> {
        let events = std::mem::take(&mut self.0);
        if out.events.is_empty() {
            out.events = events;
        } else {
            out.events.extend(&events);
        }
        Ok(false)
    }

    fn most_events(&self, _bytes: u64) -> usize {
        0
    }
}
