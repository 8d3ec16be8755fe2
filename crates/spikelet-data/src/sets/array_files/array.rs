//! An array in a file or in memory, of which one sample is read at a time.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use half::{bf16, f16};
use spikelet_expr::DType;
use spikelet_weights::arrays::{self, Number, Source as _};

use super::format_error;
use crate::digest::Parts;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::sample::{SampleTensor, Values};

/// The largest array whose bytes are all in its digest.
const DIGEST_ALL: u64 = 1 << 20;

/// The number and the length of the blocks in the digest of a larger array.
const DIGEST_BLOCKS: u64 = 256;
const DIGEST_BLOCK: usize = 4096;

/// The type of the elements of a field.
fn dtype(number: Number) -> DType {
    match number {
        Number::U8 => DType::U8,
        Number::F16 | Number::BF16 | Number::F32 | Number::F64 => DType::F32,
        _ => DType::I64,
    }
}

/// The bytes of a file.
#[derive(Clone, Debug)]
pub(super) enum Bytes {
    File(Arc<File>),
    /// Decompressed.
    Memory(Arc<Vec<u8>>),
}

/// A file that is open for reading at any position.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) len: u64,
}

impl Source {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let open = |source| Error::Open {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(open)?;
        let len = file.metadata().map_err(open)?.len();
        Ok(Self {
            path: path.to_owned(),
            bytes: Bytes::File(Arc::new(file)),
            len,
        })
    }
}

impl arrays::Source for Source {
    type Error = Error;

    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let ends = offset
            .checked_add(len as u64)
            .is_some_and(|end| end <= self.len);
        if !ends || bytes.try_reserve_exact(len).is_err() {
            return Err(format_error(
                &self.path,
                offset,
                format!("{len} bytes are expected, the file has {}", self.len),
                "the file was not copied to its end, or is damaged; get it again",
            ));
        }
        bytes.resize(len, 0);
        match &self.bytes {
            Bytes::Memory(all) => bytes.copy_from_slice(&all[offset as usize..][..len]),
            Bytes::File(file) => {
                read_exact_at(file, &mut bytes, offset).map_err(|source| Error::Read {
                    path: self.path.clone(),
                    source,
                })?;
            }
        }
        Ok(bytes)
    }

    fn invalid(&self, offset: u64, problem: impl Into<String>, help: &'static str) -> Error {
        format_error(&self.path, offset, problem, help)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_read(bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

/// An array `[len, …]`, row-major.
#[derive(Clone, Debug)]
pub(super) struct Array {
    source: Source,
    offset: u64,
    number: Number,
    big_endian: bool,
    len: usize,
    /// The shape of one sample, and its size in bytes.
    shape: Vec<usize>,
    row_bytes: usize,
}

impl Array {
    /// The array at `offset` of a file, which ends at `end`, or before it.
    pub(super) fn new(
        source: Source,
        (offset, end): (u64, u64),
        number: Number,
        big_endian: bool,
        shape: &[usize],
    ) -> Result<Self> {
        let Some((&len, shape)) = shape.split_first() else {
            return Err(format_error(
                &source.path,
                offset,
                "a single number has no samples",
                "axis 0 of an array are the samples; leave this array out",
            ));
        };
        // Otherwise a file of a few bytes could have any number of samples, or of time steps.
        if shape.contains(&0) {
            return Err(format_error(
                &source.path,
                offset,
                format!("a sample of shape {shape:?} has no elements"),
                "leave this array out",
            ));
        }
        let mut sizes = shape.iter();
        let row_bytes = sizes.try_fold(number.bytes(), |n, &size| n.checked_mul(size));
        let bytes = row_bytes.and_then(|row| u64::try_from(row.checked_mul(len)?).ok());
        let expected = bytes.and_then(|bytes| bytes.checked_add(offset));
        match (row_bytes, expected) {
            (Some(row_bytes), Some(expected)) if expected <= end.min(source.len) => Ok(Self {
                shape: shape.to_vec(),
                source,
                offset,
                number,
                big_endian,
                len,
                row_bytes,
            }),
            _ => Err(format_error(
                &source.path,
                offset,
                format!(
                    "an array of shape {len} × {shape:?} and {} bytes an element does not end before byte {end}",
                    number.bytes()
                ),
                "the file was not copied to its end, or is damaged; get it again",
            )),
        }
    }

    /// The number of samples.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The array as one sample, with all axes.
    pub(super) fn read_all(&self) -> Result<SampleTensor<'static>> {
        let shape = [&[self.len], self.shape.as_slice()].concat();
        let row_bytes = self.len * self.row_bytes;
        let all = Self {
            len: 1,
            shape,
            row_bytes,
            ..self.clone()
        };
        all.read(0)
    }

    pub(super) fn field(&self, name: &str) -> Field {
        Field::new(name, dtype(self.number), self.shape.iter().copied())
    }

    /// Sample `index`, below [`Self::len`].
    pub(super) fn read(&self, index: usize) -> Result<SampleTensor<'static>> {
        let offset = self.offset + index as u64 * self.row_bytes as u64;
        let bytes = self.source.read(offset, self.row_bytes)?;
        let big = self.big_endian;
        macro_rules! decode {
            ($type:ty, $convert:expr) => {{
                let (words, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                let words = words.iter().map(|&word| match big {
                    true => <$type>::from_be_bytes(word),
                    false => <$type>::from_le_bytes(word),
                });
                words.map($convert).collect()
            }};
        }
        let values = match self.number {
            Number::U8 => Values::U8(bytes.into()),
            Number::I8 => Values::I64(decode!(i8, i64::from)),
            Number::U16 => Values::I64(decode!(u16, i64::from)),
            Number::I16 => Values::I64(decode!(i16, i64::from)),
            Number::U32 => Values::I64(decode!(u32, i64::from)),
            Number::I32 => Values::I64(decode!(i32, i64::from)),
            Number::I64 => Values::I64(decode!(i64, |value| value)),
            Number::U64 => {
                let values: Vec<u64> = decode!(u64, |value| value);
                let values = values.into_iter().map(|value| {
                    i64::try_from(value).map_err(|_| {
                        format_error(
                            &self.source.path,
                            offset,
                            format!("{value} is more than an i64 can hold"),
                            "save the array as int64",
                        )
                    })
                });
                Values::I64(values.collect::<Result<_>>()?)
            }
            Number::F16 => Values::F32(decode!(f16, f32::from)),
            Number::BF16 => Values::F32(decode!(bf16, f32::from)),
            Number::F32 => Values::F32(decode!(f32, |value| value)),
            Number::F64 => Values::F32(decode!(f64, |value| value as f32)),
        };
        Ok(SampleTensor {
            shape: self.shape.clone(),
            values,
        })
    }

    pub(super) fn digest_into(&self, digest: Parts) -> Result<Parts> {
        let bytes = self.len as u64 * self.row_bytes as u64;
        let mut digest = digest.number(bytes as usize);
        if bytes <= DIGEST_ALL {
            return Ok(digest.part(&self.source.read(self.offset, bytes as usize)?));
        }
        let last = bytes - DIGEST_BLOCK as u64;
        for block in 0..DIGEST_BLOCKS {
            let at = (u128::from(last) * u128::from(block) / u128::from(DIGEST_BLOCKS - 1)) as u64;
            digest = digest.part(&self.source.read(self.offset + at, DIGEST_BLOCK)?);
        }
        Ok(digest)
    }
}
