//! The errors of IDX files, and the limits that they name.

use std::io;

/// The maximal size of the content in bytes. Larger headers are refused.
pub const MAX_BYTES: u64 = 1 << 32;

/// The maximal number of excess bytes that are counted for the error message.
pub(crate) const COUNTED_EXCESS: u64 = 1 << 20;

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
