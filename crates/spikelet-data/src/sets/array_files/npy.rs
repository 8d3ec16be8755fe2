//! NumPy's `.npy` and `.npz`.
//!
//! An `.npy` file is a magic number, the version, the length of a header, the header, and the numbers. The header is a
//! Python literal: `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`. An `.npz` file is a ZIP archive of
//! them.
//!
//! Source: NumPy, `numpy.lib.format`.

use std::path::Path;

use super::array::{Array, Bytes, Number, Source};
use super::{check_count, format_error, zip};
use crate::error::{Error, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read.
const MAX_HEADER: usize = 1 << 20;

/// The largest number of axes in NumPy.
const MAX_AXES: usize = 64;

const HELP: &str = "save a numeric array with `numpy.save`";

pub(super) fn open(path: &Path) -> Result<Array> {
    let source = Source::open(path)?;
    let end = source.len;
    array(source, 0, end)
}

pub(super) fn open_npz(path: &Path, names: &[&str], memory: usize) -> Result<Vec<(String, Array)>> {
    let source = Source::open(path)?;
    let entries = zip::entries(&source)?;
    let known: Vec<&str> = entries
        .iter()
        .map(|entry| entry.name.strip_suffix(".npy").unwrap_or(&entry.name))
        .collect();
    let wanted: Vec<&str> = match names {
        [] => {
            check_count(path, known.len())?;
            known.clone()
        }
        names => names.to_vec(),
    };
    let mut left = memory;
    let mut arrays = Vec::new();
    for name in wanted {
        let Some(at) = known.iter().position(|known| *known == name) else {
            return Err(format_error(
                path,
                0,
                format!("no array `{name}`; there are: {}", known.join(", ")),
                "use one of these names",
            ));
        };
        let entry = &entries[at];
        let array = if entry.stored {
            let begin = zip::data_offset(&source, entry)?;
            array(
                source.clone(),
                begin,
                begin.saturating_add(entry.compressed),
            )?
        } else {
            let bytes = zip::inflate(&source, entry, left)?;
            left -= bytes.len();
            let len = bytes.len() as u64;
            let source = Source {
                path: path.to_owned(),
                bytes: Bytes::Memory(bytes.into()),
                len,
            };
            array(source, 0, len)?
        };
        arrays.push((name.to_owned(), array));
    }
    Ok(arrays)
}

/// The array whose `.npy` begins at `begin` and ends at `end`.
fn array(source: Source, begin: u64, end: u64) -> Result<Array> {
    let error = |offset: u64, problem: String| -> Error {
        format_error(&source.path, offset, problem, HELP)
    };
    let start = source.read(begin, 12)?;
    let (head, version) = match (&start[..6] == MAGIC, start[6]) {
        (true, 1) => (10, usize::from(u16::from_le_bytes([start[8], start[9]]))),
        (true, 2 | 3) => {
            let bytes = [start[8], start[9], start[10], start[11]];
            (12, u32::from_le_bytes(bytes) as usize)
        }
        (true, version) => {
            return Err(error(
                begin,
                format!("version {version} of .npy is unknown"),
            ));
        }
        (false, _) => return Err(error(begin, "this is not an .npy file".into())),
    };
    if version > MAX_HEADER {
        return Err(error(
            begin,
            format!("a header of {version} bytes is too long"),
        ));
    }
    let header = source.read(begin + head, version)?;
    let header = String::from_utf8_lossy(&header);
    let offset = begin + head;
    let (number, big_endian) =
        descr(&header).ok_or_else(|| error(offset, format!("unknown type in {header}")))?;
    let shape =
        shape(&header).ok_or_else(|| error(offset, format!("unknown shape in {header}")))?;
    match value(&header, "fortran_order") {
        Some(order) if order.starts_with("False") || shape.len() < 2 => {}
        _ => {
            return Err(format_error(
                &source.path,
                offset,
                "the array is in Fortran order, in which a sample is not contiguous",
                "save `numpy.ascontiguousarray(array)`",
            ));
        }
    }
    let data = offset + version as u64;
    Array::new(source, (data, end), number, big_endian, &shape)
}

/// The text after a key of the header.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let at = |key: &String| header.find(key).map(|at| at + key.len());
    let rest = header.get(quoted.iter().find_map(at)?..)?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// The type of the numbers, and whether they are big-endian.
fn descr(header: &str) -> Option<(Number, bool)> {
    let text = value(header, "descr")?;
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (name, _) = text[1..].split_once(quote)?;
    let (order, name) = match name.as_bytes().first()? {
        b'<' | b'>' | b'|' | b'=' => name.split_at(1),
        _ => ("<", name),
    };
    let number = match name {
        "u1" | "b1" | "?" => Number::U8,
        "i1" => Number::I8,
        "u2" => Number::U16,
        "i2" => Number::I16,
        "u4" => Number::U32,
        "i4" => Number::I32,
        "u8" => Number::U64,
        "i8" => Number::I64,
        "f2" => Number::F16,
        "f4" => Number::F32,
        "f8" => Number::F64,
        _ => return None,
    };
    Some((number, order == ">"))
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let text = value(header, "shape")?.strip_prefix('(')?;
    let (sizes, _) = text.split_once(')')?;
    let sizes = sizes
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty());
    let sizes = sizes.take(MAX_AXES + 1).map(|size| size.parse().ok());
    let shape = sizes.collect::<Option<Vec<usize>>>()?;
    (shape.len() <= MAX_AXES).then_some(shape)
}
