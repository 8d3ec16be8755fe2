//! `.npz`: a ZIP archive of `.npy` files, not compressed.
//!
//! Sizes and offsets of 4 GiB and more are in the 64-bit extension, which NumPy reads and writes too. The checksums
//! are computed when all arrays are written, because pieces come in any order.
//!
//! Sources: NumPy, `numpy.lib.format`; PKWARE, APPNOTE.TXT, .ZIP File Format Specification 6.3.10.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::Crc;

use super::{ArraySpec, ArrayType, Placed, extend};

/// The versions of the format that readers need: with and without the 64-bit extension.
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;

/// 1980-01-01, the first date of the format: the same arrays are the same bytes.
const DATE: u16 = (1 << 5) | 1;

/// The flag of names in UTF-8.
const UTF8: u16 = 1 << 11;

/// The bytes of a local header before the name, and of the extra field with both sizes behind it.
const LOCAL: u64 = 30;
const EXTRA_64: u64 = 20;

/// The offset of the checksum in a local header.
const CRC_AT: u64 = 14;

/// The header of an `.npy` file.
fn npy_header(spec: &ArraySpec) -> Vec<u8> {
    let element = match spec.element {
        ArrayType::U8 => "|u1",
        ArrayType::I64 => "<i8",
        ArrayType::F32 => "<f4",
    };
    let sizes: String = spec.shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = match spec.shape.len() {
        1 => sizes.trim_end(),
        _ => sizes.trim_end_matches(", "),
    };
    let text = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Version 1.0 has a length of two bytes; the elements begin at a multiple of 64.
    let len = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((len as u16).to_le_bytes());
    header.extend(format!("{text:<width$}\n", width = len - 1).bytes());
    header
}

fn file_name(spec: &ArraySpec) -> String {
    format!("{}.npy", spec.name)
}

/// The bytes of the `.npy` file of an array.
fn size(array: &Placed) -> u64 {
    array.data - start(array) + array.spec.bytes()
}

/// The offset of the `.npy` file of an array: behind its local header.
fn start(array: &Placed) -> u64 {
    array.data - npy_header(&array.spec).len() as u64
}

fn is_large(value: u64) -> bool {
    value >= u64::from(u32::MAX)
}

fn clamped(value: u64, large: bool) -> u32 {
    match large {
        true => u32::MAX,
        false => value as u32,
    }
}

/// The fields that local headers and entries of the directory share.
fn shared(crc: u32, size: u64, large: bool, name: &str, extra: u16) -> Vec<u8> {
    let mut bytes = vec![];
    let version = if large { VERSION_64 } else { VERSION };
    for field in [version, UTF8, 0, 0, DATE] {
        bytes.extend(field.to_le_bytes());
    }
    let size = clamped(size, large);
    for field in [crc, size, size] {
        bytes.extend(field.to_le_bytes());
    }
    for field in [name.len() as u16, extra] {
        bytes.extend(field.to_le_bytes());
    }
    bytes
}

/// The extra field of the 64-bit extension.
fn extra_64(values: &[u64]) -> Vec<u8> {
    let mut bytes = vec![1, 0];
    bytes.extend((8 * values.len() as u16).to_le_bytes());
    values
        .iter()
        .for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

pub(super) fn begin(
    file: &mut (impl Write + Seek),
    arrays: Vec<ArraySpec>,
) -> io::Result<Vec<Placed>> {
    let mut placed = vec![];
    let mut header = 0;
    for spec in arrays {
        let (name, npy) = (file_name(&spec), npy_header(&spec));
        if name.len() > usize::from(u16::MAX) || npy.len() > usize::from(u16::MAX) {
            let problem = format!("the name or the shape of `{}` is too long", spec.name);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let size = npy.len() as u64 + spec.bytes();
        let large = is_large(size);
        let extra = if large { EXTRA_64 } else { 0 };
        file.seek(SeekFrom::Start(header))?;
        file.write_all(b"PK\x03\x04")?;
        file.write_all(&shared(0, size, large, &name, extra as u16))?;
        file.write_all(name.as_bytes())?;
        if large {
            file.write_all(&extra_64(&[size, size]))?;
        }
        file.write_all(&npy)?;
        let data = header + LOCAL + name.len() as u64 + extra + npy.len() as u64;
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
    let directory = ends.max().unwrap_or(0);
    extend(file, directory)?;
    let mut entries = vec![];
    for array in arrays {
        let size = size(array);
        file.seek(SeekFrom::Start(start(array)))?;
        let crc = checksum(file, size)?;
        file.seek(SeekFrom::Start(array.header + CRC_AT))?;
        file.write_all(&crc.to_le_bytes())?;

        let name = file_name(&array.spec);
        let large = is_large(size) || is_large(array.header);
        let extra = match large {
            true => extra_64(&[size, size, array.header]),
            false => vec![],
        };
        entries.extend(b"PK\x01\x02");
        // The version that made it, on an operating system without permissions.
        entries.extend(VERSION_64.to_le_bytes());
        entries.extend(shared(crc, size, large, &name, extra.len() as u16));
        // Comment, disk, attributes.
        entries.extend([0; 10]);
        entries.extend(clamped(array.header, large).to_le_bytes());
        entries.extend(name.as_bytes());
        entries.extend(extra);
    }
    file.seek(SeekFrom::Start(directory))?;
    file.write_all(&entries)?;
    file.write_all(&end_records(arrays.len(), directory, entries.len() as u64))
}

/// The records at the end of the archive.
fn end_records(count: usize, directory: u64, len: u64) -> Vec<u8> {
    let mut bytes = vec![];
    let large = is_large(directory) || is_large(len) || count >= usize::from(u16::MAX);
    if large {
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend(VERSION_64.to_le_bytes());
        bytes.extend(VERSION_64.to_le_bytes());
        // The disks.
        bytes.extend([0; 8]);
        for field in [count as u64, count as u64, len, directory] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07");
        bytes.extend([0; 4]);
        bytes.extend((directory + len).to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
    }
    let entries = if large { u16::MAX } else { count as u16 };
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 4]);
    bytes.extend(entries.to_le_bytes());
    bytes.extend(entries.to_le_bytes());
    bytes.extend(clamped(len, large).to_le_bytes());
    bytes.extend(clamped(directory, large).to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}
