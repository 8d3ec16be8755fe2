//! Numeric arrays of MATLAB files of version 5, the format of `save -v6` and `-v7` and of `scipy.io.savemat`.
//!
//! ```text
//! 116 bytes of text · 8 bytes · version 0x0100 · "IM"      (little-endian)
//! elements: type u32, length u32, data, padded to 8 bytes  (type 15: an element compressed with zlib, not padded)
//! a matrix (type 14): flags · sizes i32 · name i8 · values, which are elements; values are column-major
//! an element of up to 4 bytes: length u16 and type u16 in one u32, data
//! ```
//!
//! Big-endian files, complex and sparse arrays, cells and structures are not implemented.
//!
//! Source: The MathWorks, *MAT-File Format*, R2023a.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// The most bytes of a compressed array after decompression.
const MAX_ARRAY: u64 = 1 << 26;

/// The bytes of a compressed element that have the name of its array.
const MAX_HEAD: u64 = 4096;

const HEADER: usize = 128;
const COMPRESSED: u32 = 15;
const MATRIX: u32 = 14;

/// A numeric array, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct MatArray {
    /// The sizes of the axes.
    pub shape: Vec<usize>,
    /// Integers of 64 bits are rounded.
    pub values: Vec<f64>,
}

/// One element of a file or of a matrix.
#[derive(Clone, Copy)]
struct Element<'a> {
    kind: u32,
    data: &'a [u8],
}

/// Why an array cannot be read.
pub type Problem = String;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

/// The element at `at`, as far as it is in `bytes`, and the position after it.
fn element(bytes: &[u8], at: usize) -> Option<(Element<'_>, usize)> {
    let first = word(bytes, at)?;
    let (kind, len, begin, end) = match (first & 0xffff, (first >> 16) as usize) {
        (_, 0) => {
            let len = word(bytes, at + 4)? as usize;
            let end = (at + 8).checked_add(len)?;
            let padded = match first {
                COMPRESSED => end,
                _ => end.checked_next_multiple_of(8)?,
            };
            (first, len, at + 8, padded)
        }
        (kind, len) if len <= 4 => (kind, len, at + 4, at + 8),
        _ => return None,
    };
    let data = &bytes[begin.min(bytes.len())..];
    let data = &data[..len.min(data.len())];
    Some((Element { kind, data }, end))
}

/// The arrays `names` of a file, in this order.
///
/// # Errors
/// A position and a problem, if the file is damaged, or does not have one of the arrays as real numbers.
pub fn read<const N: usize>(
    bytes: &[u8],
    names: [&str; N],
) -> Result<[MatArray; N], (usize, Problem)> {
    let error = |offset: usize, problem: Problem| (offset, problem);
    if bytes.get(124..HEADER) != Some(&[0, 1, b'I', b'M']) {
        let problem = "this is not a little-endian MATLAB file of version 5";
        return Err(error(0, problem.into()));
    }
    let mut arrays = [const { None }; N];
    let mut at = HEADER;
    while at < bytes.len() {
        let damaged = || error(at, "the file ends within an array".into());
        let (element, next) = element(bytes, at).ok_or_else(damaged)?;
        // The padding after the last element may be missing.
        if at + 8 + element.data.len() > bytes.len() || next > bytes.len() + 7 {
            return Err(damaged());
        }
        let wanted = |name: &[u8]| names.iter().position(|known| known.as_bytes() == name);
        if let Some((place, array)) = matrix(element, wanted).map_err(|p| error(at, p))? {
            arrays[place] = Some(array);
        }
        at = next;
    }
    if let Some(missing) = arrays.iter().position(Option::is_none) {
        let problem = format!("it has no array `{}`", names[missing]);
        return Err(error(bytes.len(), problem));
    }
    let empty = || MatArray {
        shape: vec![],
        values: vec![],
    };
    Ok(arrays.map(|array| array.unwrap_or_else(empty)))
}

/// The array of an element of the file, if it is wanted.
fn matrix(
    element: Element<'_>,
    wanted: impl Fn(&[u8]) -> Option<usize>,
) -> Result<Option<(usize, MatArray)>, Problem> {
    match element.kind {
        MATRIX => {
            let place = name(element.data).and_then(wanted);
            place
                .map(|place| Ok((place, array(element.data)?)))
                .transpose()
        }
        COMPRESSED => {
            // Only the arrays that are wanted are decompressed completely.
            let head = inflate(element.data, MAX_HEAD)?;
            let Some((inner, _)) = self::element(&head, 0) else {
                return Err("a compressed array has no data".into());
            };
            let Some(place) = name(inner.data).and_then(wanted) else {
                return Ok(None);
            };
            let bytes = inflate(element.data, MAX_ARRAY + 1)?;
            if bytes.len() as u64 > MAX_ARRAY {
                return Err(format!("an array has more than {MAX_ARRAY} bytes"));
            }
            match self::element(&bytes, 0) {
                Some((inner, _)) if inner.kind == MATRIX => Ok(Some((place, array(inner.data)?))),
                _ => Err("a compressed element is no array".into()),
            }
        }
        _ => Ok(None),
    }
}

/// At most `limit` bytes of compressed data.
fn inflate(data: &[u8], limit: u64) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let read = ZlibDecoder::new(data).take(limit).read_to_end(&mut bytes);
    read.map_err(|error| format!("an array cannot be decompressed: {error}"))?;
    Ok(bytes)
}

/// The first parts of a matrix: flags, sizes, name, and the position of the values.
fn parts(data: &[u8]) -> Option<(Element<'_>, Element<'_>, Element<'_>, usize)> {
    let (flags, at) = element(data, 0)?;
    let (sizes, at) = element(data, at)?;
    let (name, at) = element(data, at)?;
    Some((flags, sizes, name, at))
}

fn name(data: &[u8]) -> Option<&[u8]> {
    parts(data).map(|(_, _, name, _)| name.data)
}

/// The array of a matrix.
fn array(data: &[u8]) -> Result<MatArray, Problem> {
    let problem = || Problem::from("an array is damaged");
    let (flags, sizes, name, at) = parts(data).ok_or_else(problem)?;
    let name = String::from_utf8_lossy(name.data);
    let flags = word(flags.data, 0).ok_or_else(problem)?;
    // Classes 6 (double) to 15 (u64) are numeric; bit 11 marks complex values.
    if !(6..=15).contains(&(flags & 0xff)) || flags & 0x800 != 0 {
        return Err(format!("the array `{name}` has no real numbers"));
    }
    let (sizes, _) = sizes.data.as_chunks::<4>();
    let sizes = sizes
        .iter()
        .map(|&size| usize::try_from(i32::from_le_bytes(size)).ok());
    let shape: Vec<usize> = sizes.collect::<Option<_>>().ok_or_else(problem)?;
    let len = shape
        .iter()
        .try_fold(1_usize, |n, &size| n.checked_mul(size));
    let len = len.ok_or_else(problem)?;
    let (values, _) = element(data, at).ok_or_else(problem)?;
    let values = numbers(values).ok_or_else(|| {
        format!(
            "the array `{name}` has values of the type {}, which is not implemented",
            values.kind
        )
    })?;
    if values.len() != len {
        return Err(format!(
            "the array `{name}` of shape {shape:?} has {} values",
            values.len()
        ));
    }
    let values = row_major(&shape, &values);
    Ok(MatArray { shape, values })
}

/// The values of an element of numbers.
fn numbers(element: Element<'_>) -> Option<Vec<f64>> {
    let data = element.data;
    macro_rules! decode {
        ($type:ty) => {{
            let (words, _) = data.as_chunks::<{ size_of::<$type>() }>();
            let words = words.iter().map(|&word| <$type>::from_le_bytes(word));
            words.map(|value| value as f64).collect()
        }};
    }
    Some(match element.kind {
        1 => decode!(i8),
        2 => decode!(u8),
        3 => decode!(i16),
        4 => decode!(u16),
        5 => decode!(i32),
        6 => decode!(u32),
        7 => decode!(f32),
        9 => decode!(f64),
        12 => decode!(i64),
        13 => decode!(u64),
        _ => return None,
    })
}

/// Column-major values, row-major.
fn row_major(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let mut sorted = Vec::with_capacity(values.len());
    let mut index = vec![0; shape.len()];
    for _ in 0..values.len() {
        let (mut at, mut stride) = (0, 1);
        for (&index, &size) in index.iter().zip(shape) {
            at += index * stride;
            stride *= size;
        }
        sorted.push(values[at]);
        for (index, &size) in index.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < size {
                break;
            }
            *index = 0;
        }
    }
    sorted
}
