//! ZIP archives are written: entries whose bytes are aligned to 64, with the 64-bit extension where a size or a position
//! needs it, which NumPy and PyTorch read and write too.
//!
//! Sources: PKWARE, APPNOTE.TXT, .ZIP File Format Specification 6.3.10; PyTorch, `caffe2/serialize/inline_container.cc`.

use std::io::{self, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::zip::Entry;

/// The versions of the format that readers need: with and without the 64-bit extension.
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;

/// 1980-01-01, the first date of the format: the same entries are the same bytes.
const DATE: u16 = (1 << 5) | 1;

/// The flag of names in UTF-8.
const UTF8: u16 = 1 << 11;

/// The alignment of the bytes of an entry.
const ALIGNMENT: u64 = 64;

/// The offset of the checksum in a local header.
pub const CRC_AT: u64 = 14;

/// The longest name of an entry.
pub const MAX_NAME: usize = u16::MAX as usize;

/// Readers refuse arrays that become more than 200 times larger.
const MAX_EXPANSION: u64 = 200;

fn is_large(value: u64) -> bool {
    value >= u64::from(u32::MAX)
}

fn clamped(value: u64, large: bool) -> [u8; 4] {
    if large { u32::MAX } else { value as u32 }.to_le_bytes()
}

/// The extra field of the 64-bit extension.
fn extra_64(values: &[u64]) -> Vec<u8> {
    let mut bytes = vec![1, 0];
    bytes.extend((8 * values.len() as u16).to_le_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

impl Entry {
    /// The fields that local headers and entries of the directory share.
    fn fields(&self, large: bool, extra: usize) -> Vec<u8> {
        let version = if large { VERSION_64 } else { VERSION };
        let method = if self.stored { 0 } else { 8 };
        let mut bytes = [version, UTF8, method, 0, DATE]
            .map(u16::to_le_bytes)
            .concat();
        bytes.extend(self.crc.to_le_bytes());
        bytes.extend(clamped(self.compressed, large));
        bytes.extend(clamped(self.uncompressed, large));
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend((extra as u16).to_le_bytes());
        bytes
    }

    /// The local header. The bytes of the entry follow, at a multiple of 64.
    #[must_use]
    pub fn local_header(&self) -> Vec<u8> {
        let large = is_large(self.uncompressed.max(self.compressed));
        let mut extra = vec![];
        if large {
            extra = extra_64(&[self.uncompressed, self.compressed]);
        }
        // PyTorch's own field fills up to the alignment.
        let end = self.header + (30 + self.name.len() + extra.len() + 4) as u64;
        let padding = end.next_multiple_of(ALIGNMENT) - end;
        extra.extend(b"FB");
        extra.extend((padding as u16).to_le_bytes());
        extra.resize(extra.len() + padding as usize, b'Z');
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend(self.fields(large, extra.len()));
        bytes.extend(self.name.bytes());
        bytes.extend(extra);
        bytes
    }
}

/// The end of an archive, from `position` on: the directory of its entries, and the records that point to it.
#[must_use]
pub fn directory(entries: &[Entry], position: u64) -> Vec<u8> {
    let mut bytes = vec![];
    for entry in entries {
        let sizes = [entry.uncompressed, entry.compressed, entry.header];
        let large = sizes.into_iter().any(is_large);
        let extra = if large { extra_64(&sizes) } else { vec![] };
        bytes.extend(b"PK\x01\x02");
        // The version that made it, on an operating system without permissions.
        bytes.extend(VERSION_64.to_le_bytes());
        bytes.extend(entry.fields(large, extra.len()));
        // Comment, disk, attributes.
        bytes.extend([0; 10]);
        bytes.extend(clamped(entry.header, large));
        bytes.extend(entry.name.bytes());
        bytes.extend(extra);
    }
    let (len, count) = (bytes.len() as u64, entries.len() as u64);
    let large = is_large(position) || is_large(len) || count >= u64::from(u16::MAX);
    if large {
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend([VERSION_64; 2].map(u16::to_le_bytes).concat());
        // The disks.
        bytes.extend([0; 8]);
        bytes.extend([count, count, len, position].map(u64::to_le_bytes).concat());
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend((position + len).to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
    }
    let count = if large { u16::MAX } else { count as u16 };
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count; 2].map(u16::to_le_bytes).concat());
    bytes.extend(clamped(len, large));
    bytes.extend(clamped(position, large));
    bytes.extend([0; 2]);
    bytes
}

/// A ZIP archive that is written from its start to its end.
#[derive(Debug)]
pub struct Archive<W> {
    out: W,
    position: u64,
    entries: Vec<Entry>,
}

impl<W: Write> Archive<W> {
    /// An archive without entries.
    pub fn new(out: W) -> Self {
        Self {
            out,
            position: 0,
            entries: vec![],
        }
    }

    /// Writes an entry, whose name has at most [`MAX_NAME`] bytes: its parts one after the other, compressed if they
    /// become smaller and readers accept it.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn add(&mut self, name: &str, parts: &[&[u8]], compress: bool) -> io::Result<()> {
        let mut crc = Crc::new();
        parts.iter().for_each(|part| crc.update(part));
        let len = parts.iter().map(|part| part.len() as u64).sum();
        let deflated = if compress { deflate(parts, len)? } else { None };
        let entry = Entry {
            name: name.into(),
            stored: deflated.is_none(),
            compressed: deflated.as_ref().map_or(len, |bytes| bytes.len() as u64),
            uncompressed: len,
            crc: crc.sum(),
            header: self.position,
        };
        let header = entry.local_header();
        self.out.write_all(&header)?;
        match &deflated {
            Some(bytes) => self.out.write_all(bytes)?,
            None => parts.iter().try_for_each(|part| self.out.write_all(part))?,
        }
        self.position += header.len() as u64 + entry.compressed;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the directory.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&directory(&self.entries, self.position))
    }
}

fn deflate(parts: &[&[u8]], len: u64) -> io::Result<Option<Vec<u8>>> {
    let mut encoder = DeflateEncoder::new(vec![], Compression::default());
    parts.iter().try_for_each(|part| encoder.write_all(part))?;
    let deflated = encoder.finish()?;
    let compressed = deflated.len() as u64;
    let is_better = compressed < len && len / compressed.max(1) < MAX_EXPANSION;
    Ok(is_better.then_some(deflated))
}
