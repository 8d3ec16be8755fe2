//! SpikingJelly's npz files are written: a zip file of the arrays t (i64), x, y (u16) and p (u8).
//!
//! A zip file has one array after the other, so the columns are held until the end.
//!
//! Source: PKWARE, *APPNOTE.TXT*; NumPy, `numpy.lib.format`.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::columns::MAX_EXPANSION;
use super::{Encoder, Events, Unwritable};
use crate::WriteOptions;
use crate::error::Result;

/// The most events: a zip file without extensions has at most 4 GiB, and an event 13 bytes.
const MAX_EVENTS: usize = 330_000_000;

/// The name and the number type of NumPy of each array.
const ARRAYS: [(&str, &str); 4] = [
    ("t.npy", "<i8"),
    ("x.npy", "<u2"),
    ("y.npy", "<u2"),
    ("p.npy", "|u1"),
];

/// The bytes to which the header of an array is filled up.
const HEADER: usize = 128;

pub(super) fn new_encoder(options: &WriteOptions, _: &mut Vec<u8>) -> Result<Box<dyn Encoder>> {
    let arrays = [(); 4].map(|()| vec![0; HEADER]);
    Ok(Box::new(NpzEncoder {
        arrays,
        len: 0,
        compress: options.compress,
    }))
}

struct NpzEncoder {
    /// The arrays, after the bytes for their headers.
    arrays: [Vec<u8>; 4],
    /// The number of events.
    len: usize,
    compress: bool,
}

impl Encoder for NpzEncoder {
    fn encode(&mut self, events: Events<'_>, _: &mut Vec<u8>) -> Result<(), Unwritable> {
        let at = MAX_EVENTS - self.len;
        if events.t.len() > at {
            let problem = format!("a file has at most {MAX_EVENTS} events");
            return Err(Unwritable::value(at, problem));
        }
        self.len += events.t.len();
        let [t, x, y, p] = &mut self.arrays;
        t.extend(events.t.iter().flat_map(|value| value.to_le_bytes()));
        x.extend(events.x.iter().flat_map(|value| value.to_le_bytes()));
        y.extend(events.y.iter().flat_map(|value| value.to_le_bytes()));
        p.extend(events.p);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut directory = vec![];
        for (array, (name, number)) in self.arrays.iter_mut().zip(ARRAYS) {
            array[..HEADER].copy_from_slice(&npy_header(number, self.len));
            let offset = (out.len() - start) as u32;
            let fields = append_member(array, name, self.compress, out);
            directory.extend(b"PK\x01\x02\x14\0");
            directory.extend(&fields);
            // Comment, disk, attributes.
            directory.extend([0; 10]);
            directory.extend(offset.to_le_bytes());
            directory.extend(name.as_bytes());
            // Its memory is not needed any more.
            *array = vec![];
        }
        let position = (out.len() - start) as u32;
        out.extend(&directory);
        let count = ARRAYS.len() as u16;
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend((directory.len() as u32).to_le_bytes());
        out.extend(position.to_le_bytes());
        out.extend([0; 2]);
    }
}

fn npy_header(number: &str, len: usize) -> [u8; HEADER] {
    let mut header = [b' '; HEADER];
    let dict = format!("{{'descr': '{number}', 'fortran_order': False, 'shape': ({len},), }}");
    header[..8].copy_from_slice(b"\x93NUMPY\x01\0");
    header[8..10].copy_from_slice(&(HEADER as u16 - 10).to_le_bytes());
    header[10..10 + dict.len()].copy_from_slice(dict.as_bytes());
    header[HEADER - 1] = b'\n';
    header
}

/// Appends a member; gives the fields that the directory repeats.
fn append_member(array: &[u8], name: &str, compress: bool, out: &mut Vec<u8>) -> Vec<u8> {
    let deflated = if compress { deflate(array) } else { None };
    let (method, bytes) = match &deflated {
        Some(deflated) => (8_u16, deflated.as_slice()),
        None => (0, array),
    };
    let mut crc = Crc::new();
    crc.update(array);
    // The version that reads it, no flags, the method, and 1980-01-01 as the date: equal events are equal files.
    let mut fields = vec![20, 0, 0, 0];
    fields.extend(method.to_le_bytes());
    fields.extend([0, 0, 0x21, 0]);
    fields.extend(crc.sum().to_le_bytes());
    fields.extend((bytes.len() as u32).to_le_bytes());
    fields.extend((array.len() as u32).to_le_bytes());
    fields.extend((name.len() as u16).to_le_bytes());
    fields.extend([0; 2]);
    out.extend(b"PK\x03\x04");
    out.extend(&fields);
    out.extend(name.as_bytes());
    out.extend(bytes);
    fields
}

/// The compressed bytes, unless the array is better stored: readers refuse arrays that become many times larger.
fn deflate(array: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(vec![], Compression::default());
    encoder.write_all(array).ok()?;
    let deflated = encoder.finish().ok()?;
    let expansion = array.len() as u64 / (deflated.len() as u64).max(1);
    (deflated.len() < array.len() && expansion < MAX_EXPANSION).then_some(deflated)
}
