//! The entries of a ZIP archive, with the 64-bit extension that NumPy writes.
//!
//! Source: PKWARE, APPNOTE.TXT, .ZIP File Format Specification 6.3.10.

use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::Source;

/// The longest central directory that is read: hundreds of thousands of entries.
const MAX_DIRECTORY: u64 = 1 << 26;

/// The length of the end record without its comment, and the longest comment.
const END_RECORD: u64 = 22;
const MAX_COMMENT: u64 = 0xffff;

/// The most bytes that a byte of Deflate data decompresses to.
///
/// Source: zlib, Technical Details, "Maximum Expansion Factor".
pub const MAX_EXPANSION: usize = 1032;

const HELP: &str =
    "the file was not copied to its end, or is damaged: copy, download or save it again";

/// A file in the archive.
#[derive(Debug)]
pub struct Entry {
    /// Its path in the archive.
    pub name: String,
    /// Whether its bytes are not compressed.
    pub stored: bool,
    /// The bytes in the archive.
    pub compressed: u64,
    /// The bytes of the file.
    pub uncompressed: u64,
    /// The checksum of the file.
    pub crc: u32,
    /// The position of its header.
    pub header: u64,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// All files of the archive.
///
/// # Errors
/// If the archive is damaged.
pub fn entries<S: Source>(source: &S) -> Result<Vec<Entry>, S::Error> {
    let (offset, len, count) = directory(source)?;
    let damaged = |at: usize| {
        let problem = "the directory of the archive is damaged";
        source.invalid(offset + at as u64, problem, HELP)
    };
    if len > MAX_DIRECTORY {
        return Err(damaged(0));
    }
    let bytes = source.read(offset, len as usize)?;
    let (mut at, mut entries) = (0, Vec::new());
    while at < bytes.len() {
        let (entry, len) = entry(&bytes[at..]).ok_or_else(|| damaged(at))?;
        entries.push(entry.map_err(|problem| source.invalid(offset + at as u64, problem, HELP))?);
        at += len;
    }
    // Writers without the 64-bit extension keep 16 bits of a larger number.
    if count & 0xffff != entries.len() as u64 & 0xffff {
        let problem = format!(
            "the archive claims {count} entries, its directory has {}",
            entries.len()
        );
        return Err(source.invalid(offset, problem, HELP));
    }
    Ok(entries)
}

/// The offset and the length of the central directory, and the number of its entries.
fn directory<S: Source>(source: &S) -> Result<(u64, u64, u64), S::Error> {
    let error = || {
        let problem = "no directory of an archive at the end of the file";
        source.invalid(source.len(), problem, HELP)
    };
    let len = source.len().min(END_RECORD + MAX_COMMENT);
    let start = source.len() - len;
    let bytes = source.read(start, len as usize)?;
    let ends = |at: usize| {
        let comment = u16_at(&bytes, at + 20);
        comment
            .is_some_and(|comment| at + END_RECORD as usize + usize::from(comment) == bytes.len())
    };
    let mut places = (0..bytes.len()).rev();
    let at = places.find(|&at| u32_at(&bytes, at) == Some(0x0605_4b50) && ends(at));
    let at = at.ok_or_else(error)?;
    let (len, offset) = (u32_at(&bytes, at + 12), u32_at(&bytes, at + 16));
    let (Some(len), Some(offset), Some(count)) = (len, offset, u16_at(&bytes, at + 10)) else {
        return Err(error());
    };
    if len != u32::MAX && offset != u32::MAX {
        return Ok((offset.into(), len.into(), count.into()));
    }
    // The locator of the 64-bit end record is before the end record.
    let locator = at.checked_sub(20).ok_or_else(error)?;
    let record = match u32_at(&bytes, locator) {
        Some(0x0706_4b50) => u64_at(&bytes, locator + 8).ok_or_else(error)?,
        _ => return Err(error()),
    };
    let record = source.read(record, 56)?;
    match [32, 40, 48].map(|at| u64_at(&record, at)) {
        [Some(count), Some(len), Some(offset)] if u32_at(&record, 0) == Some(0x0606_4b50) => {
            Ok((offset, len, count))
        }
        _ => Err(error()),
    }
}

/// The entry at the beginning of `bytes` and the length of its record; `None` if it is damaged.
fn entry(bytes: &[u8]) -> Option<(Result<Entry, String>, usize)> {
    if u32_at(bytes, 0)? != 0x0201_4b50 {
        return None;
    }
    let (flags, method) = (u16_at(bytes, 8)?, u16_at(bytes, 10)?);
    let lengths = [28, 30, 32].map(|at| u16_at(bytes, at).map(usize::from));
    let [Some(name_len), Some(extra_len), Some(comment_len)] = lengths else {
        return None;
    };
    let name = String::from_utf8_lossy(bytes.get(46..46 + name_len)?).into_owned();
    let extra = bytes.get(46 + name_len..46 + name_len + extra_len)?;
    // Sizes that do not fit are in the extra field 1, in this order.
    let mut large = extra_field(extra, 1).unwrap_or_default();
    let mut size = |at: usize| match u32_at(bytes, at)? {
        u32::MAX => {
            let value = u64_at(large, 0)?;
            large = &large[8..];
            Some(value)
        }
        value => Some(u64::from(value)),
    };
    let (uncompressed, compressed) = (size(24)?, size(20)?);
    let header = size(42)?;
    let entry = match (flags & 1, method) {
        (0, 0 | 8) => Ok(Entry {
            stored: method == 0,
            crc: u32_at(bytes, 16)?,
            name,
            compressed,
            uncompressed,
            header,
        }),
        _ => Err(format!(
            "`{name}` is encrypted or compressed with method {method}"
        )),
    };
    Some((entry, 46 + name_len + extra_len + comment_len))
}

/// The contents of an extra field.
fn extra_field(mut extra: &[u8], id: u16) -> Option<&[u8]> {
    loop {
        let (own, len) = (u16_at(extra, 0)?, usize::from(u16_at(extra, 2)?));
        let contents = extra.get(4..4 + len)?;
        if own == id {
            return Some(contents);
        }
        extra = &extra[4 + len..];
    }
}

/// The offset of the bytes of an entry.
///
/// # Errors
/// If the archive is damaged.
pub fn data_offset<S: Source>(source: &S, entry: &Entry) -> Result<u64, S::Error> {
    let header = source.read(entry.header, 30)?;
    match (u32_at(&header, 0), u16_at(&header, 26), u16_at(&header, 28)) {
        (Some(0x0403_4b50), Some(name), Some(extra)) => {
            Ok(entry.header + 30 + u64::from(name) + u64::from(extra))
        }
        _ => {
            let problem = format!("no header of `{}`", entry.name);
            Err(source.invalid(entry.header, problem, HELP))
        }
    }
}

/// The decompressed bytes of an entry, at most `limit`.
///
/// # Errors
/// If the archive is damaged.
pub fn inflate<S: Source>(source: &S, entry: &Entry, limit: usize) -> Result<Vec<u8>, S::Error> {
    let offset = data_offset(source, entry)?;
    let error = |problem: String, help: &'static str| source.invalid(offset, problem, help);
    let expected = usize::try_from(entry.uncompressed).unwrap_or(usize::MAX);
    if expected > limit {
        return Err(error(
            format!(
                "`{}` takes {expected} bytes of memory, {limit} are left",
                entry.name
            ),
            "save it with `numpy.savez`, without compression, or allow more memory",
        ));
    }
    let compressed = usize::try_from(entry.compressed).unwrap_or(usize::MAX);
    let compressed = source.read(offset, compressed)?;
    // The length in the directory is not trusted beyond what the data can have.
    let mut bytes = Vec::new();
    let most = compressed.len().saturating_mul(MAX_EXPANSION);
    if expected > most || bytes.try_reserve_exact(expected).is_err() {
        let problem = format!("`{}` cannot have {expected} bytes", entry.name);
        return Err(error(problem, HELP));
    }
    let mut decoder =
        DeflateDecoder::new(&compressed[..]).take(entry.uncompressed.saturating_add(1));
    let read = decoder.read_to_end(&mut bytes);
    let mut crc = Crc::new();
    crc.update(&bytes);
    if read.is_err() || bytes.len() != expected || crc.sum() != entry.crc {
        return Err(error(format!("`{}` is damaged", entry.name), HELP));
    }
    Ok(bytes)
}
