//! NumPy's `.npy` and `.npz`, a ZIP archive of them.

use std::path::Path;

use spikelet_weights::arrays::{Source as _, npy, zip};

use super::array::{Array, Bytes, Source};
use super::{check_count, format_error};
use crate::error::{Error, Result};

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
    let start = source.read(begin, npy::START)?;
    let end_of_header =
        npy::data_start(&start).map_err(|problem| error(begin, problem.to_string()))?;
    let start = source.read(begin, end_of_header)?;
    let offset = begin + npy::header_start(&start) as u64;
    let header = npy::header(&start).map_err(|problem| error(offset, problem.to_string()))?;
    let [field] = header.fields.as_slice() else {
        let problem = "unknown type: the array is structured";
        return Err(error(offset, problem.into()));
    };
    if header.fortran_order {
        return Err(format_error(
            &source.path,
            offset,
            "the array is in Fortran order, in which a sample is not contiguous",
            "save `numpy.ascontiguousarray(array)`",
        ));
    }
    let (number, big_endian) = (field.number, field.big_endian);
    let data = begin + end_of_header as u64;
    Array::new(source, (data, end), number, big_endian, &header.shape)
}
