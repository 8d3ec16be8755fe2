//! Arrays of a file that are read completely: those of data sets that are kept in memory.

use std::path::Path;

use super::array::{Bytes, Source};
use super::{npy, safetensors};
use crate::error::Result;
use crate::sample::SampleTensor;
use crate::xz;

/// The most bytes of a compressed file after decompression.
const MAX_BYTES: usize = 1 << 28;

/// The arrays `names` of a file, in this order and with all axes: of an `.npz` by the name of the file, otherwise of
/// safetensors, which may be compressed with xz (`.xz`).
///
/// # Errors
/// [`Error::Open`](crate::Error::Open), [`Error::Read`](crate::Error::Read), or
/// [`Error::Format`](crate::Error::Format) if the file is damaged, an array is missing, or a compressed file has more than
/// 256 MiB.
pub(crate) fn read_arrays<const N: usize>(
    path: &Path,
    names: [&str; N],
) -> Result<[SampleTensor<'static>; N]> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let arrays = match extension {
        Some("npz") => npy::open_npz(path, &names, MAX_BYTES)?,
        Some("xz") => {
            let bytes = xz::decompress(path, MAX_BYTES)?;
            let len = bytes.len() as u64;
            let source = Source {
                path: path.to_owned(),
                bytes: Bytes::Memory(bytes.into()),
                len,
            };
            safetensors::open_source(source, &names)?
        }
        _ => safetensors::open(path, &names)?,
    };
    let mut read = [const { None }; N];
    for (place, (_, array)) in read.iter_mut().zip(arrays) {
        *place = Some(array.read_all()?);
    }
    Ok(read.map(|array| array.unwrap_or_else(|| SampleTensor::u8(&[0], vec![]))))
}
