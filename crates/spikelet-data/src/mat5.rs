//! Numeric arrays of MATLAB files of version 5.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use spikelet_weights::arrays::mat5;

use crate::error::{Error, Result};

/// The longest file.
const MAX_FILE: u64 = 1 << 28;

const HELP: &str = "the file was not copied to its end, or is another file; get it again";

/// The arrays `names` of a file, in this order.
///
/// # Errors
/// [`Error::Open`], [`Error::Read`]; [`Error::Format`] if the file is damaged or too long, or does not have one of the
/// arrays as real numbers.
pub(crate) fn read<const N: usize>(path: &Path, names: [&str; N]) -> Result<[mat5::MatArray; N]> {
    let error = |(offset, problem): (usize, String)| Error::Format {
        path: path.to_owned(),
        offset: offset as u64,
        problem,
        help: HELP,
    };
    let file = File::open(path).map_err(|source| Error::Open {
        path: path.to_owned(),
        source,
    })?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(error((0, format!("it has more than {MAX_FILE} bytes"))));
    }
    mat5::read(&bytes, names).map_err(error)
}
