//! npy: a NumPy array of events.
//!
//! | format | array |
//! |---|---|
//! | npy-structured | fields `t` (microseconds), `x`, `y`, `p` of any type of numbers: DVS-Lip |
//! | npy-xypt-ms | `[n, 4]`: x, y, polarity, time in milliseconds: DVS128 Gesture of tonic |
//!
//! Source: NumPy, `numpy.lib.format`; DVS-Lip; tonic 1.7 `DVSGesture`.

use super::columns::{Column, Columns, Place, read_header};
use super::shared_file::SharedFile;
use super::{Blocks, Container, Entry, Open};
use crate::Format;
use crate::error::Result;
use spikelet_weights::arrays::Source as _;
use spikelet_weights::arrays::npy::{self, Field, Header};

const STRUCTURED_NAME: &str = Format::NpyStructured.name();
const XYPT_NAME: &str = Format::NpyXyptMs.name();

pub(crate) const STRUCTURED: Entry = Entry {
    extensions: &[],
    detect: |start| is_structured(start) == Some(true),
    encoder: None,
    open: Open::Container(|file, _| open_structured(file)),
};

pub(crate) const XYPT: Entry = Entry {
    extensions: &[],
    detect: |start| is_structured(start) == Some(false),
    encoder: None,
    open: Open::Container(|file, _| open_xypt(file)),
};

fn is_structured(start: &[u8]) -> Option<bool> {
    let end = npy::data_start(start).ok()?;
    let header = npy::header(start.get(..end)?).ok()?;
    match header.fields.as_slice() {
        [field] if field.name.is_empty() => (header.shape.get(1) == Some(&4)).then_some(false),
        _ => Some(true),
    }
}

/// The file, the header, and the place of the array.
fn open(format: &'static str, file: Box<dyn Container>) -> Result<(SharedFile, Header, Place)> {
    let file = SharedFile::new(format, file)?;
    let (start, len) = (
        Place {
            position: 0,
            is_plain: true,
        },
        file.len(),
    );
    let (header, data) = read_header(&file, "the array", start, &mut file.part(0, len), len)?;
    Ok((file, header, start.after(data as u64)))
}

fn open_structured(file: Box<dyn Container>) -> Result<Box<dyn Blocks>> {
    let (file, header, data) = open(STRUCTURED_NAME, file)?;
    let column = |name: &'static str| {
        let Some(field) = header.fields.iter().find(|field| field.name == name) else {
            let names = header.fields.iter().map(|field| field.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            let problem = format!("field {name} is missing (has {names})");
            return Err(file.damaged(0, problem));
        };
        let bytes = file.part(data.position, u64::MAX);
        Ok(Column::new(
            name,
            bytes,
            data,
            field.clone(),
            header.element_bytes,
        ))
    };
    Ok(Box::new(Columns {
        format: STRUCTURED_NAME,
        t: column("t")?,
        x: column("x")?,
        y: column("y")?,
        p: Ok(column("p")?),
        left: header.len().unwrap_or(0),
        microseconds: 1,
    }))
}

fn open_xypt(file: Box<dyn Container>) -> Result<Box<dyn Blocks>> {
    let (file, header, data) = open(XYPT_NAME, file)?;
    let (&[rows, 4], [field]) = (&header.shape[..], &header.fields[..]) else {
        let problem = format!(
            "an array of shape {:?} and {} fields; [n, 4] is expected: x, y, polarity, time in milliseconds",
            header.shape,
            header.fields.len()
        );
        return Err(file.damaged(0, problem));
    };
    let size = field.number.bytes();
    let column = |name: &'static str, place: usize| {
        let (begin, offset, stride) = match header.fortran_order {
            true => (place * rows * size, 0, size),
            false => (0, place * size, 4 * size),
        };
        let place = data.after(begin as u64);
        let bytes = file.part(place.position, u64::MAX);
        let field = Field {
            offset,
            ..field.clone()
        };
        Column::new(name, bytes, place, field, stride)
    };
    Ok(Box::new(Columns {
        format: XYPT_NAME,
        t: column("t", 3),
        x: column("x", 0),
        y: column("y", 1),
        p: Ok(column("p", 2)),
        left: rows,
        microseconds: 1000,
    }))
}
