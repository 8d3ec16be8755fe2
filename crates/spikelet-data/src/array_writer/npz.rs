//! `.npz`: a ZIP archive of `.npy` files, not compressed. The checksums are computed when all arrays are written, because
//! pieces come in any order.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::Crc;
use spikelet_weights::arrays::archive::{CRC_AT, MAX_NAME, directory};
use spikelet_weights::arrays::{npy, zip::Entry};

use super::{ArraySpec, ArrayType, Placed, extend};

/// The header of an `.npy` file.
fn npy_header(spec: &ArraySpec) -> Vec<u8> {
    let element = match spec.element {
        ArrayType::U8 => "|u1",
        ArrayType::I64 => "<i8",
        ArrayType::F32 => "<f4",
    };
    npy::new_header(element, &spec.shape)
}

/// The entry of an array of `len` bytes, with its header.
fn entry(spec: &ArraySpec, header: u64, len: u64) -> Entry {
    Entry {
        name: format!("{}.npy", spec.name),
        stored: true,
        compressed: len,
        uncompressed: len,
        crc: 0,
        header,
    }
}

pub(super) fn begin(
    file: &mut (impl Write + Seek),
    arrays: Vec<ArraySpec>,
) -> io::Result<Vec<Placed>> {
    let mut placed = vec![];
    let mut header = 0;
    for spec in arrays {
        let npy = npy_header(&spec);
        let entry = entry(&spec, header, npy.len() as u64 + spec.bytes());
        if entry.name.len() > MAX_NAME || npy.len() > usize::from(u16::MAX) {
            let problem = format!("the name or the shape of `{}` is too long", spec.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let start = [entry.local_header(), npy].concat();
        file.seek(SeekFrom::Start(header))?;
        file.write_all(&start)?;
        let data = header + start.len() as u64;
        let next = data.saturating_add(spec.bytes());
        placed.push(Placed { spec, header, data });
        header = next;
    }
    Ok(placed)
}

/// The checksum of `len` bytes from here on.
fn checksum(file: &mut impl Read, len: u64) -> io::Result<u32> {
    let mut crc = Crc::new();
    let mut left = len;
    let mut buffer = vec![0; 1 << 16];
    while left > 0 {
        let part = &mut buffer[..left.min(1 << 16) as usize];
        file.read_exact(part)?;
        crc.update(part);
        left -= part.len() as u64;
    }
    Ok(crc.sum())
}

pub(super) fn finish(file: &mut (impl Read + Write + Seek), arrays: &[Placed]) -> io::Result<()> {
    let ends = arrays.iter().map(|array| array.data + array.spec.bytes());
    let position = ends.max().unwrap_or(0);
    extend(file, position)?;
    let mut entries = vec![];
    for array in arrays {
        let npy = npy_header(&array.spec).len() as u64;
        let len = npy + array.spec.bytes();
        file.seek(SeekFrom::Start(array.data - npy))?;
        let mut entry = entry(&array.spec, array.header, len);
        entry.crc = checksum(file, len)?;
        file.seek(SeekFrom::Start(array.header + CRC_AT))?;
        file.write_all(&entry.crc.to_le_bytes())?;
        entries.push(entry);
    }
    file.seek(SeekFrom::Start(position))?;
    file.write_all(&directory(&entries, position))
}
