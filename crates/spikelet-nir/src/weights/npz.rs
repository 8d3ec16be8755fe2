//! Archives of NumPy arrays: an `.npy` file for each name.

use std::collections::HashSet;

use spikelet_events::arrays::zip::{self, Entry};
use spikelet_events::arrays::{Number, npy};

use super::record::record;
use super::strided::gather;

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;
use crate::source::FileSource;
use crate::tensor::{Tensor, swap_bytes};

/// The arrays in the order of the archive.
pub(super) fn read(source: &FileSource, budget: &mut Budget) -> Result<Vec<(String, Tensor)>> {
    let mut names = HashSet::new();
    let mut arrays = vec![];
    for entry in zip::entries(source)? {
        let Some(name) = entry.name.strip_suffix(".npy") else {
            return Err(error(&entry.name, "this member is no .npy file"));
        };
        let name = name.to_owned();
        if !names.insert(name.clone()) {
            return Err(error(&name, "two arrays have this name"));
        }
        let len = entry.uncompressed;
        budget.take(len).map_err(|limit| ErrorKind::TooLarge {
            of: format!("the array `{name}`"),
            bytes: len,
            limit,
        })?;
        let array = array(source, &entry, &name)?;
        arrays.push((name, array));
    }
    Ok(arrays)
}

fn error(tensor: &str, problem: impl Into<String>) -> Error {
    ErrorKind::Tensor {
        tensor: tensor.chars().take(120).collect(),
        problem: problem.into(),
        help: "save arrays of numbers with numpy.savez",
    }
    .into()
}

fn array(source: &FileSource, entry: &Entry, name: &str) -> Result<Tensor> {
    let mut bytes = record(source, entry)?;
    let start = bytes.get(..npy::START).unwrap_or(&bytes);
    let data = npy::data_start(start).map_err(|problem| error(name, problem))?;
    let head = bytes.get(..data);
    let head = head.ok_or_else(|| error(name, "the header is longer than the file"))?;
    let header = npy::header(head).map_err(|problem| error(name, problem))?;
    let [field] = header.fields.as_slice() else {
        return Err(error(name, "it is a structured array"));
    };
    let dtype = dtype(field.number, head);
    let len = header
        .len()
        .unwrap_or(usize::MAX)
        .saturating_mul(header.element_bytes);
    if bytes.len() - data != len {
        let problem = format!(
            "the shape {:?} takes {len} bytes; {} are there",
            header.shape,
            bytes.len() - data
        );
        return Err(error(name, problem));
    }
    bytes.drain(..data);
    if field.big_endian {
        swap_bytes(&mut bytes, dtype.bytes());
    }
    if header.fortran_order {
        // The first axis is contiguous: the strides are those of the reversed shape.
        let mut stride = 1;
        let strides = header.shape.iter().map(|&size| {
            let own = stride;
            stride *= size as u64;
            own
        });
        let strides: Vec<u64> = strides.collect();
        bytes = gather(&bytes, dtype.bytes(), 0, &header.shape, &strides);
    }
    Tensor::new(dtype, header.shape, bytes)
}

/// The type of the elements. Truth values are bytes in NumPy's header as well.
fn dtype(number: Number, header: &[u8]) -> Dtype {
    let is_bool = || {
        let header = String::from_utf8_lossy(header);
        ["|b1'", "|b1\"", "'?'", "\"?\""]
            .iter()
            .any(|name| header.contains(name))
    };
    match number {
        Number::U8 if is_bool() => Dtype::Bool,
        Number::U8 => Dtype::U8,
        Number::I8 => Dtype::I8,
        Number::U16 => Dtype::U16,
        Number::I16 => Dtype::I16,
        Number::U32 => Dtype::U32,
        Number::I32 => Dtype::I32,
        Number::U64 => Dtype::U64,
        Number::I64 => Dtype::I64,
        Number::F16 => Dtype::F16,
        Number::BF16 => Dtype::BF16,
        Number::F32 => Dtype::F32,
        Number::F64 => Dtype::F64,
    }
}
