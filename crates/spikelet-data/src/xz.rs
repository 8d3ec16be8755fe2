//! Files compressed with xz, with the delta filter.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use lzma_rust2::XzReader;

use crate::error::{Error, Result};

/// The memory for the dictionary in KiB: a header may ask for 4 GiB.
const DICTIONARY_KIB: u32 = 128 << 10;

/// The content of a file, at most `limit` bytes.
///
/// # Errors
/// [`Error::Open`]; [`Error::Format`] if the file is damaged, or has more bytes or a larger dictionary (128 MiB).
pub(crate) fn decompress(path: &Path, limit: usize) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    })?;
    let error = |offset, problem| Error::Format {
        path: path.to_owned(),
        offset,
        problem,
        help: "unpack it with `xz -d`, or get the file again",
    };
    let reader = XzReader::new_mem_limit(BufReader::new(file), true, DICTIONARY_KIB);
    let mut bytes = Vec::new();
    let read = reader.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|source| error(0, format!("it cannot be decompressed: {source}")))?;
    if bytes.len() > limit {
        let problem = format!("it decompresses to more than {limit} bytes");
        return Err(error(0, problem));
    }
    Ok(bytes)
}
