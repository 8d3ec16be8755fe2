//! npz: zip files of NumPy arrays.
//!
//! | format | members |
//! |---|---|
//! | npz-events | `t` (microseconds), `x`, `y`, `p`, equally long, of any type of numbers: SpikingJelly's |
//! | npz-es-imagenet | `pos` and `neg`, `[n, 3]`: y, x and t of the ON and OFF events of ES-ImageNet |
//! | npz-frames | `frames`, for [`read_frames`] |
//!
//! Members are decompressed block by block. The headers of all are read first, so that arrays of unequal length and
//! lengths without data are errors before anything is allocated.
//!
//! Source: NumPy, `numpy.savez`; SpikingJelly 2.0 `event_datasets`; ES-ImageNet's loader.

use std::path::Path;

use super::columns::{Column, Columns, MAX_EXPANSION, Place, Value, Whole, read_header};
use super::member::Member;
use super::shared_file::SharedFile;
use super::{Blocks, Container, Entry, Open, Output, npz_encoder};
use crate::error::{ErrorKind, Result};
use crate::{EventBuffer, Format};
use spikelet_weights::arrays::{Source as _, npy, zip};

const NAME: &str = Format::NpzEvents.name();
const ES_IMAGENET: &str = Format::NpzEsImagenet.name();
const FRAMES: &str = "npz-frames";

/// The largest array whose compressed size is not checked.
const MAX_SIZE: u64 = 64 << 20;

pub(crate) const EVENTS: Entry = Entry {
    extensions: &["npz"],
    detect: |start| starts_with_member(start, &["t.npy", "x.npy", "y.npy", "p.npy"]),
    encoder: Some(npz_encoder::new_encoder),
    open: Open::Container(|file, _| open_events(file)),
};

pub(crate) const ES_IMAGENET_EVENTS: Entry = Entry {
    extensions: &[],
    detect: |start| starts_with_member(start, &["pos.npy", "neg.npy"]),
    encoder: None,
    open: Open::Container(|file, _| open_es_imagenet(file)),
};

/// Whether a zip file begins with one of these members.
fn starts_with_member(start: &[u8], names: &[&str]) -> bool {
    let name = |name: &&str| start.get(30..30 + name.len()) == Some(name.as_bytes());
    let length = start.get(26..28).map(|len| usize::from(len[0]));
    let known = |own: &&str| length == Some(own.len()) && name(own);
    start.starts_with(b"PK\x03\x04") && names.iter().any(known)
}

/// An archive.
struct Archive {
    file: SharedFile,
    entries: Vec<zip::Entry>,
}

/// A member whose header was read.
struct Array {
    name: &'static str,
    member: Member,
    /// The place behind the header.
    place: Place,
    header: npy::Header,
}

impl Archive {
    fn open(format: &'static str, file: Box<dyn Container>) -> Result<Self> {
        let file = SharedFile::new(format, file)?;
        let entries = zip::entries(&file)?;
        Ok(Self { file, entries })
    }

    fn array(&self, name: &'static str) -> Result<Array> {
        let own = |entry: &zip::Entry| entry.name.strip_suffix(".npy") == Some(name);
        let Some(entry) = self.entries.iter().find(|entry| own(entry)) else {
            let names = self.entries.iter().take(16);
            let names: Vec<_> = names
                .map(|entry| entry.name.strip_suffix(".npy").unwrap_or(&entry.name))
                .collect();
            let problem = format!("member {name} is missing (has {})", names.join(", "));
            let help = "save the arrays t, x, y and p with `numpy.savez`, or name the format";
            return Err(self.file.invalid(0, problem, help));
        };
        let size: u64 = entry.uncompressed;
        if size > MAX_SIZE && size / MAX_EXPANSION > entry.compressed {
            let problem = format!(
                "member {name} has {size} bytes after decompression and {} before, less than is possible for events",
                entry.compressed
            );
            return Err(self.file.damaged(entry.header, problem));
        }
        let mut member = Member::open(&self.file, entry)?;
        let (start, title) = (member.place, format!("member {name}"));
        let (header, data) = read_header(&self.file, &title, start, &mut member, size)?;
        Ok(Array {
            name,
            member,
            place: start.after(data as u64),
            header,
        })
    }

    /// A member that is one column, and its length.
    fn column(&self, name: &'static str) -> Result<(Column, usize)> {
        let array = self.array(name)?;
        match array.header.fields.as_slice() {
            [field] => {
                let rows = array.header.len().unwrap_or(0);
                let field = field.clone();
                let stride = array.header.element_bytes;
                Ok((
                    Column::new(name, array.member, array.place, field, stride),
                    rows,
                ))
            }
            fields => {
                let problem = format!("member {name} has elements of {} fields", fields.len());
                Err(self.file.damaged(array.place.position, problem))
            }
        }
    }
}

fn open_events(file: Box<dyn Container>) -> Result<Box<dyn Blocks>> {
    let archive = Archive::open(NAME, file)?;
    let [t, x, y, p] = ["t", "x", "y", "p"].map(|name| archive.column(name));
    let ((t, rows), (x, x_rows), (y, y_rows), (p, p_rows)) = (t?, x?, y?, p?);
    if [x_rows, y_rows, p_rows] != [rows; 3] {
        let problem = format!(
            "the members have unequal lengths: t {rows}, x {x_rows}, y {y_rows}, p {p_rows}"
        );
        return Err(archive.file.damaged(0, problem));
    }
    Ok(Box::new(Columns {
        format: NAME,
        t,
        x,
        y,
        p: Ok(p),
        left: rows,
        microseconds: 1,
    }))
}

fn open_es_imagenet(file: Box<dyn Container>) -> Result<Box<dyn Blocks>> {
    let archive = Archive::open(ES_IMAGENET, file)?;
    let mut all = Output::default();
    for (name, p) in [("pos", 1), ("neg", 0)] {
        // A column is read by itself.
        let column = |own: &'static str, place: usize| -> Result<(Column, usize)> {
            let array = archive.array(name)?;
            let (&[rows, 3], [field]) = (&array.header.shape[..], &array.header.fields[..]) else {
                let problem = format!(
                    "member {} has the shape {:?}; [n, 3] is expected",
                    array.name, array.header.shape
                );
                return Err(archive.file.damaged(array.place.position, problem));
            };
            let (size, mut field) = (field.number.bytes(), field.clone());
            if array.header.fortran_order {
                let problem = format!("member {name} is in Fortran order");
                return Err(archive.file.damaged(array.place.position, problem));
            }
            field.offset = place * size;
            let column = Column::new(own, array.member, array.place, field, 3 * size);
            Ok((column, rows))
        };
        let ((y, rows), (x, _), (t, _)) = (column("y", 0)?, column("x", 1)?, column("t", 2)?);
        let mut columns = Columns {
            format: ES_IMAGENET,
            t,
            x,
            y,
            p: Err(p),
            left: rows,
            microseconds: 1,
        };
        while columns.next_block(&mut all)? {}
    }
    let mut order: Vec<_> = super::Events::from(&all.events).iter().collect();
    order.sort_unstable();
    let mut events = EventBuffer::default();
    for (t, x, y, p) in order {
        events.push(t, x, y, p == 1);
    }
    Ok(Box::new(Whole(events)))
}

/// Frames, as SpikingJelly stores them.
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    /// The sizes of the axes: time, polarity, rows, columns.
    pub shape: Vec<usize>,
    /// The counts, row-major.
    pub values: Vec<f32>,
}

/// Reads the member `frames` of an `.npz` file.
///
/// # Errors
/// [`ErrorKind::Open`], [`ErrorKind::Read`], [`ErrorKind::Damaged`].
pub fn read_frames(path: impl AsRef<Path>) -> Result<Frames> {
    let path = path.as_ref();
    let file = std::fs::File::open(path)
        .map_err(|error| crate::Error::from(ErrorKind::Open(error)).in_file(path))?;
    frames(Box::new(file)).map_err(|error| error.in_file(path))
}

fn frames(file: Box<dyn Container>) -> Result<Frames> {
    let archive = Archive::open(FRAMES, file)?;
    let array = archive.array("frames")?;
    let shape = array.header.shape;
    if array.header.fortran_order {
        let problem = "member frames is in Fortran order";
        return Err(archive.file.damaged(array.place.position, problem));
    }
    let (mut column, mut left) = archive.column("frames")?;
    let mut values = Vec::new();
    while left > 0 {
        let rows = left.min(1 << 16);
        left -= rows;
        let read = column.each(rows, |value| {
            values.push(match value {
                Value::Int(value) => value as f32,
                Value::Float(value) => value as f32,
            });
            Ok(())
        });
        read.map_err(|(position, problem)| archive.file.damaged(position, problem))?;
    }
    Ok(Frames { shape, values })
}
