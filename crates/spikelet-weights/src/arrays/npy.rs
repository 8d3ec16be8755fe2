//! NumPy's `.npy`: a magic number, the version, the length of a header, the header, and the numbers.
//!
//! The header is a Python literal: `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`. The `descr` of a
//! structured array is a list of pairs: `[('t', '<i8'), ('p', '|b1')]`.
//!
//! Source: NumPy, `numpy.lib.format`.

use super::Number;

/// The header of an array in C order whose numbers NumPy calls `descr`, such as `<f4`: version 1.0. The numbers follow, at a
/// multiple of 64.
#[must_use]
pub fn new_header(descr: &str, shape: &[usize]) -> Vec<u8> {
    // A tuple of one has a comma.
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let sizes = sizes.join(", ") + comma;
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let len = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend((len as u16).to_le_bytes());
    header.extend(format!("{text:<width$}\n", width = len - 1).bytes());
    header
}

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The bytes that tell the length of the header.
pub const START: usize = 12;

/// The longest header that is read.
const MAX_HEADER: usize = 1 << 20;

/// The largest number of axes in NumPy.
const MAX_AXES: usize = 64;

/// A header that is not that of an array of numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The file does not begin as an `.npy` file.
    #[error("this is not an .npy file")]
    NotNpy,
    /// The version of the format.
    #[error("version {0} of .npy is unknown")]
    Version(u8),
    /// The bytes of the header.
    #[error("a header of {0} bytes is too long")]
    TooLong(usize),
    /// The header of an array of objects.
    #[error("an array of Python objects, which are never read: {0}")]
    Objects(String),
    /// The header without a known type.
    #[error("unknown type in {0}")]
    Type(String),
    /// The header without a shape.
    #[error("unknown shape in {0}")]
    Shape(String),
    /// The header without the order of the axes.
    #[error("unknown order in {0}")]
    Order(String),
}

/// The numbers of one name in each element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name; empty if the array is not structured.
    pub name: String,
    /// The type.
    pub number: Number,
    /// Whether the first byte is the most significant.
    pub big_endian: bool,
    /// The position in the element, in bytes.
    pub offset: usize,
}

/// What an array is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The fields of a structured array, or a field without a name.
    pub fields: Vec<Field>,
    /// The bytes of an element.
    pub element_bytes: usize,
    /// Whether the first axis is contiguous, in arrays of two axes and more.
    pub fortran_order: bool,
    /// The sizes of the axes.
    pub shape: Vec<usize>,
}

impl Header {
    /// The number of elements; `None` if no memory has as many.
    #[must_use]
    pub fn len(&self) -> Option<usize> {
        let len = self
            .shape
            .iter()
            .try_fold(1_usize, |n, &size| n.checked_mul(size))?;
        len.checked_mul(self.element_bytes)?;
        Some(len)
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }
}

/// The number of bytes before the array, of a file that begins with these [`START`] bytes.
///
/// # Errors
/// If it is not an `.npy` file of a known version.
pub fn data_start(start: &[u8]) -> Result<usize, HeaderError> {
    if start.len() < START || &start[..6] != MAGIC {
        return Err(HeaderError::NotNpy);
    }
    let (head, len) = match start[6] {
        1 => (10, usize::from(u16::from_le_bytes([start[8], start[9]]))),
        2 | 3 => {
            let bytes = [start[8], start[9], start[10], start[11]];
            (START, u32::from_le_bytes(bytes) as usize)
        }
        version => return Err(HeaderError::Version(version)),
    };
    if len > MAX_HEADER {
        return Err(HeaderError::TooLong(len));
    }
    Ok(head + len)
}

/// The position of the text of the header.
#[must_use]
pub fn header_start(start: &[u8]) -> usize {
    if start.get(6) == Some(&1) { 10 } else { START }
}

/// The header in the bytes before an array.
///
/// # Errors
/// If it is not understood.
pub fn header(start: &[u8]) -> Result<Header, HeaderError> {
    let text = String::from_utf8_lossy(start.get(header_start(start)..).unwrap_or(&[]));
    let text = text.trim_end();
    let objects = || text.contains("'O'") || text.contains("'|O'");
    let fields = descr(text).ok_or_else(|| match objects() {
        true => HeaderError::Objects(text.to_owned()),
        false => HeaderError::Type(text.to_owned()),
    })?;
    let shape = shape(text).ok_or_else(|| HeaderError::Shape(text.to_owned()))?;
    let fortran_order = match value(text, "fortran_order") {
        Some(order) if order.starts_with("False") => false,
        Some(order) if order.starts_with("True") => shape.len() > 1,
        _ => return Err(HeaderError::Order(text.to_owned())),
    };
    let element_bytes = fields.iter().map(|field| field.number.bytes()).sum();
    Ok(Header {
        fields,
        element_bytes,
        fortran_order,
        shape,
    })
}

/// The text after a key of the header.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let at = |key: &String| header.find(key).map(|at| at + key.len());
    let rest = header.get(quoted.iter().find_map(at)?..)?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// The text in quotes at the start, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

fn descr(header: &str) -> Option<Vec<Field>> {
    let text = value(header, "descr")?;
    let Some(mut rest) = text.strip_prefix('[') else {
        let (number, big_endian) = number(quoted(text)?.0)?;
        let (name, offset) = (String::new(), 0);
        return Some(vec![Field {
            name,
            number,
            big_endian,
            offset,
        }]);
    };
    let (mut fields, mut offset) = (vec![], 0);
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if rest.starts_with(']') {
            return Some(fields);
        }
        let (name, after) = quoted(rest.strip_prefix('(')?.trim_start())?;
        let (kind, after) = quoted(after.trim_start().strip_prefix(',')?.trim_start())?;
        let (number, big_endian) = number(kind)?;
        fields.push(Field {
            name: name.to_owned(),
            number,
            big_endian,
            offset,
        });
        offset += number.bytes();
        // A field that is an array has its shape here, which is not implemented.
        rest = after.trim_start().strip_prefix(')')?;
    }
}

/// The type of the numbers, and whether they are big-endian.
fn number(name: &str) -> Option<(Number, bool)> {
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
