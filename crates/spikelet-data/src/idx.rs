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

/// The maximal size of the content in bytes. Larger headers are refused.
pub const MAX_BYTES: u64 = 1 << 32;

/// The maximal number of excess bytes that are counted for the error message.
const COUNTED_EXCESS: u64 = 1 << 20;

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

/// An invalid IDX file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdxError {
    /// Reading failed.
    #[error("cannot be read: {0}\n  help: check the disk and the file's permissions")]
    Read(#[source] io::Error),
    /// It starts like gzip and cannot be decompressed.
    #[error("damaged gzip data: {0}\n  help: fetch the file again")]
    Gzip(#[source] io::Error),
    /// It is named `.gz`, but is neither gzip nor IDX.
    #[error(
        "named .gz, but starts with {found:02x?} instead of gzip's [1f, 8b]\n  \
         help: this is often a web page saved in place of the file; fetch it again"
    )]
    NotGzip {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// It does not start with two zero bytes.
    #[error(
        "not an IDX file: starts with {found:02x?} instead of [00, 00, 08, {expected_dims:02x}]\n  \
         help: this is not a file of the data set, or it is damaged; fetch it again"
    )]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
        /// The expected number of dimensions.
        expected_dims: usize,
    },
    /// Its values are not unsigned bytes.
    #[error(
        "values of type 0x{found:02x} ({}), only 0x08 (u8) is read\n  \
         help: images and labels are stored as unsigned bytes; convert the file",
        type_name(*found)
    )]
    Type {
        /// The type code.
        found: u8,
    },
    /// It has another number of dimensions.
    #[error(
        "{found} dimensions, expected {expected}\n  help: files of images have 3 dimensions \
         (count, height, width), files of labels 1; have the two been exchanged?"
    )]
    Dimensions {
        /// Dimensions in the header.
        found: usize,
        /// The expected number of dimensions.
        expected: usize,
    },
    /// A dimension is zero.
    #[error("holds nothing: its dimensions are {dims:?}\n  help: fetch the file again")]
    Empty {
        /// Dimensions in the header.
        dims: Vec<usize>,
    },
    /// The sizes in the header are too large.
    #[error(
        "its header promises {dims:?} values, more than {MAX_BYTES}\n  \
         help: the file is damaged; fetch it again"
    )]
    TooLarge {
        /// Dimensions in the header.
        dims: Vec<usize>,
    },
    /// It ends within its header.
    #[error("ends after {found} bytes, its header alone has {expected}\n  help: fetch it again")]
    TruncatedHeader {
        /// Bytes found.
        found: usize,
        /// Bytes of the header.
        expected: usize,
    },
    /// It ends too early.
    #[error(
        "ends early: {found} values, its header promises {expected} ({dims:?})\n  \
         help: the file was not copied or downloaded to its end; fetch it again"
    )]
    Truncated {
        /// Values found.
        found: u64,
        /// The number of values by the header.
        expected: u64,
        /// Dimensions in the header.
        dims: Vec<usize>,
    },
    /// It has excess bytes after its end.
    #[error(
        "{}{excess} bytes more than the {expected} values that its header promises ({dims:?})\n  \
         help: the file is damaged or two files were joined; fetch it again",
        if *excess >= COUNTED_EXCESS { "at least " } else { "" }
    )]
    TrailingBytes {
        /// Bytes after the end, counted up to 2²⁰.
        excess: u64,
        /// The number of values by the header.
        expected: u64,
        /// Dimensions in the header.
        dims: Vec<usize>,
    },
}

fn type_name(code: u8) -> &'static str {
    match code {
        0x08 => "u8",
        0x09 => "i8",
        0x0b => "i16",
        0x0c => "i32",
        0x0d => "f32",
        0x0e => "f64",
        _ => "unknown",
    }
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
