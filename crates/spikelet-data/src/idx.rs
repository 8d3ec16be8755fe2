//! IDX files, the format of MNIST and many later data sets.
//!
//! ```text
//! 0  0  type  D      type 0x08 is u8; D is the number of dimensions
//! d₁ … d_D           each a big-endian u32; the first counts the items
//! d₁·…·d_D values    row-major
//! ```
//!
//! Files may be compressed with gzip, which is detected by their content, not their name. The buffer grows
//! with the bytes that are read, not with the sizes in the header.
//!
//! Source: Y. LeCun, C. Cortes, C. Burges, *The MNIST database of handwritten digits*.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{Error, Result};
use crate::gz::Plain;
use crate::idx_error::COUNTED_EXCESS;

pub use crate::idx_error::{IdxError, MAX_BYTES};

/// The type code of unsigned bytes, the only type of images and labels.
const TYPE_U8: u8 = 0x08;

/// The content of an IDX file of `D` dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx<const D: usize> {
    /// Length of each dimension; the first counts the items.
    pub dims: [usize; D],
    /// The values, row-major; as many as the product of `dims`.
    pub data: Vec<u8>,
}

/// Reads IDX content, raw or compressed, of exactly `D` dimensions.
///
/// ```
/// use spikelet_data::idx;
///
/// let labels = idx::parse::<1>(&[0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1])?;
/// assert_eq!((labels.dims, labels.data), ([3], vec![7, 2, 1]));
/// # Ok::<(), idx::IdxError>(())
/// ```
///
/// # Errors
/// All of [`IdxError`] except [`IdxError::NotGzip`], which depends on the name.
pub fn parse<const D: usize>(bytes: &[u8]) -> Result<Idx<D>, IdxError> {
    Opened::new(bytes)?.content()
}

/// Reads an IDX file, raw or compressed, of exactly `D` dimensions.
///
/// # Errors
/// [`Error::Open`] if it cannot be opened, [`Error::Idx`] if it is invalid.
pub fn read<const D: usize>(path: impl AsRef<Path>) -> Result<Idx<D>> {
    let path = path.as_ref();
    read_if(path, |_| Ok(()))
}

/// As [`read`], after `accept` has checked the dimensions in the header: a few compressed bytes may be decompressed to
/// gigabytes.
///
/// # Errors
/// As [`read`], and the error of `accept`, before the content is read.
pub(crate) fn read_if<const D: usize>(
    path: &Path,
    accept: impl FnOnce([usize; D]) -> Result<()>,
) -> Result<Idx<D>> {
    let opened = open_file(path).map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    });
    let file = opened?;
    let wrong = |problem| Error::Idx {
        path: path.to_owned(),
        problem: match problem {
            IdxError::Magic { found, .. } if path.extension().is_some_and(|ext| ext == "gz") => {
                IdxError::NotGzip { found }
            }
            problem => problem,
        },
    };
    let opened = Opened::new(BufReader::with_capacity(1 << 16, file)).map_err(wrong)?;
    accept(opened.dims)?;
    opened.content().map_err(wrong)
}

/// Opens a regular file: a FIFO would wait for a writer, a device may have no end.
fn open_file(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        let kind = io::ErrorKind::InvalidInput;
        return Err(io::Error::new(kind, "it is no regular file"));
    }
    File::open(path)
}

/// Reads a file of gray images: dimensions count, height, width.
///
/// # Errors
/// As [`read`].
pub fn read_images(path: impl AsRef<Path>) -> Result<Idx<3>> {
    read(path)
}

/// Reads a file of labels, each of which must be below `classes`.
///
/// # Errors
/// As [`read`], and [`Error::FileLabel`] for the first label that is too large.
pub fn read_labels(path: impl AsRef<Path>, classes: usize) -> Result<Vec<u8>> {
    let path = path.as_ref();
    check_labels(path, read::<1>(path)?.data, classes)
}

/// The labels, if each of them is below `classes`.
pub(crate) fn check_labels(path: &Path, labels: Vec<u8>, classes: usize) -> Result<Vec<u8>> {
    match labels
        .iter()
        .position(|&label| usize::from(label) >= classes)
    {
        None => Ok(labels),
        Some(index) => Err(Error::FileLabel {
            path: path.to_owned(),
            index,
            label: labels[index],
            classes,
        }),
    }
}

/// A file whose header has been read.
struct Opened<const D: usize, R: BufRead> {
    reader: Plain<R>,
    dims: [usize; D],
    /// The product of `dims`.
    expected: u64,
}

impl<const D: usize, R: BufRead> Opened<D, R> {
    fn new(reader: R) -> Result<Self, IdxError> {
        let mut reader = Plain::new(reader).map_err(IdxError::Read)?;
        let failed = failure(&reader);
        let header_len = 4 * (1 + D);
        let magic = read_word(&mut reader, 0, header_len, failed)?;
        let [0, 0, value_type, found] = magic else {
            return Err(IdxError::Magic {
                found: magic,
                expected_dims: D,
            });
        };
        if value_type != TYPE_U8 {
            return Err(IdxError::Type { found: value_type });
        }
        if usize::from(found) != D {
            return Err(IdxError::Dimensions {
                found: found.into(),
                expected: D,
            });
        }
        let mut dims = [0; D];
        let mut expected = Some(1u64);
        for (axis, dim) in dims.iter_mut().enumerate() {
            let word = read_word(&mut reader, 4 * (1 + axis), header_len, failed)?;
            let size = u32::from_be_bytes(word);
            *dim = size as usize;
            expected = expected.and_then(|product| product.checked_mul(size.into()));
        }
        if dims.contains(&0) {
            return Err(IdxError::Empty { dims: dims.into() });
        }
        let Some(expected) = expected.filter(|&product| product <= MAX_BYTES) else {
            return Err(IdxError::TooLarge { dims: dims.into() });
        };
        Ok(Self {
            reader,
            dims,
            expected,
        })
    }

    /// Reads the values after the header, up to the end of the file.
    fn content(mut self) -> Result<Idx<D>, IdxError> {
        let failed = failure(&self.reader);
        let (dims, expected) = (self.dims, self.expected);
        let mut data = Vec::new();
        let found = self.reader.by_ref().take(expected).read_to_end(&mut data);
        let found = found.map_err(failed)? as u64;
        if found < expected {
            return Err(IdxError::Truncated {
                found,
                expected,
                dims: dims.into(),
            });
        }
        // At the end of the stream, gzip verifies its checksum.
        let mut rest = self.reader.take(COUNTED_EXCESS);
        let excess = io::copy(&mut rest, &mut io::sink()).map_err(failed)?;
        if excess > 0 {
            return Err(IdxError::TrailingBytes {
                excess,
                expected,
                dims: dims.into(),
            });
        }
        Ok(Idx { dims, data })
    }
}

/// Converts the error of a reader.
fn failure<R: BufRead>(reader: &Plain<R>) -> fn(io::Error) -> IdxError {
    match reader.is_gzip() {
        true => IdxError::Gzip,
        false => IdxError::Read,
    }
}

/// The next four bytes of a header of `header_len` bytes, of which `before` are already read.
fn read_word(
    reader: &mut impl Read,
    before: usize,
    header_len: usize,
    failed: impl Fn(io::Error) -> IdxError,
) -> Result<[u8; 4], IdxError> {
    let mut word = Vec::with_capacity(4);
    reader.take(4).read_to_end(&mut word).map_err(failed)?;
    <[u8; 4]>::try_from(word).map_err(|short| IdxError::TruncatedHeader {
        found: before + short.len(),
        expected: header_len,
    })
}
