//! Archives of NumPy arrays, an `.npy` file for each name, are read and written.

use std::collections::HashSet;
use std::io::Write;

use crate::arrays::archive::{Archive, MAX_NAME};
use crate::arrays::zip::{self, Entry};
use crate::arrays::{Number, npy};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;
use crate::record::record;
use crate::source::FileSource;
use crate::strided::gather;
use crate::tensor::{Tensor, swap_bytes};

/// The most axes of an array in NumPy.
const MAX_AXES: usize = 64;

/// The arrays in the order of the archive.
pub(crate) fn read(source: &FileSource, budget: &mut Budget) -> Result<Vec<(String, Tensor)>> {
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
        help: "save arrays of numbers with numpy.savez or numpy.save",
    }
    .into()
}

/// The name of the array of a file without names.
const SINGLE: &str = "x";

/// The array of an `.npy` file, as `x`.
pub(crate) fn read_single(source: &FileSource, budget: &mut Budget) -> Result<(String, Tensor)> {
    let len = source.len();
    budget.take(len).map_err(|limit| ErrorKind::TooLarge {
        of: "the array".to_owned(),
        bytes: len,
        limit,
    })?;
    let bytes = source.start(0, usize::try_from(len).unwrap_or(usize::MAX))?;
    Ok((SINGLE.to_owned(), array_of(bytes, SINGLE)?))
}

fn array(source: &FileSource, entry: &Entry, name: &str) -> Result<Tensor> {
    array_of(record(source, entry)?, name)
}

/// The array of the bytes of an `.npy` file.
fn array_of(mut bytes: Vec<u8>, name: &str) -> Result<Tensor> {
    let start = bytes.get(..npy::START).unwrap_or(&bytes);
    let data = npy::data_start(start).map_err(|problem| error(name, problem.to_string()))?;
    let head = bytes.get(..data);
    let head = head.ok_or_else(|| error(name, "the header is longer than the file"))?;
    let header = npy::header(head).map_err(|problem| error(name, problem.to_string()))?;
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

/// Writes an array for each tensor.
pub(crate) fn write(tensors: &[(String, Tensor)], file: &mut dyn Write) -> Result<()> {
    // All are checked before the first is written.
    let headers: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(name, tensor)| npy_header(name, tensor))
        .collect::<Result<_>>()?;
    let mut archive = Archive::new(file);
    for ((name, tensor), header) in tensors.iter().zip(headers) {
        let written = archive.add(&format!("{name}.npy"), &[&header, tensor.bytes()], false);
        written.map_err(ErrorKind::Write)?;
    }
    archive
        .finish()
        .map_err(|error| ErrorKind::Write(error).into())
}

/// The header of an `.npy` file.
fn npy_header(name: &str, tensor: &Tensor) -> Result<Vec<u8>> {
    let wrong = |problem: String| -> Error {
        ErrorKind::Tensor {
            tensor: name.chars().take(120).collect(),
            problem,
            help: "write safetensors or .pt",
        }
        .into()
    };
    let Some(number) = number_of(tensor.dtype()) else {
        return Err(wrong(
            "its elements are BF16, which NumPy does not have".into(),
        ));
    };
    let axes = tensor.shape().len();
    if axes > MAX_AXES {
        return Err(wrong(format!(
            "it has {axes} axes; arrays have at most {MAX_AXES}"
        )));
    }
    if name.len() + ".npy".len() > MAX_NAME {
        return Err(wrong(format!(
            "its name has {} bytes; at most {MAX_NAME} fit",
            name.len()
        )));
    }
    Ok(npy::new_header(number, tensor.shape()))
}

/// NumPy's name of a type.
fn number_of(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::Bool => "|b1",
        Dtype::U8 => "|u1",
        Dtype::I8 => "|i1",
        Dtype::U16 => "<u2",
        Dtype::I16 => "<i2",
        Dtype::U32 => "<u4",
        Dtype::I32 => "<i4",
        Dtype::U64 => "<u8",
        Dtype::I64 => "<i8",
        Dtype::F16 => "<f2",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
        Dtype::BF16 => return None,
    })
}
