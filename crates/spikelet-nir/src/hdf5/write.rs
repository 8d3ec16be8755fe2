//! A tree as a file. The bytes depend on nothing but the tree.

use std::io::Write;

use hdf5_pure::{DatasetBuilder, FileBuilder, FormatError, GroupBuilder};

use super::datatype::datatype;
use super::{Item, Members};
use spikelet_weights::Tensor;
use spikelet_weights::{ErrorKind, Result};

/// Arrays from this size on are compressed: an index of chunks takes more than deflate saves in smaller ones.
const MIN_COMPRESSED: usize = 512;

/// Larger arrays are not compressed: a chunk has less than 4 GiB, and is held in memory.
const MAX_COMPRESSED: usize = 1 << 30;

/// The highest level of deflate.
const MAX_LEVEL: u32 = 9;

/// Writes `/version` and `/node`. Tensors are compressed with deflate at `level`, if there is one.
pub(crate) fn write(
    node: Members,
    version: &str,
    level: Option<u32>,
    file: &mut dyn Write,
) -> Result<()> {
    let mut builder = FileBuilder::new();
    builder
        .create_dataset("version")
        .with_vlen_strings(&[version])
        .with_shape(&[]);
    let mut group = builder.create_group("node");
    fill(&mut group, "/node", node, level)?;
    builder.add_group(group.finish());
    builder.finish_to(file).map_err(|error| match error {
        hdf5_pure::Error::Io(error) => ErrorKind::Write(error).into(),
        error => unwritable("/", error),
    })
}

fn unwritable(place: &str, problem: impl ToString) -> spikelet_weights::Error {
    ErrorKind::Damaged {
        format: "HDF5",
        place: place.into(),
        problem: problem.to_string(),
        help: "give names without `/` that are not `.` or empty, and text without zero bytes",
    }
    .into()
}

fn fill(group: &mut GroupBuilder, path: &str, members: Members, level: Option<u32>) -> Result<()> {
    for (name, item) in members {
        let place = format!("{path}/{name}");
        if matches!(name.as_str(), "" | ".") || name.contains(['/', '\0']) {
            let problem = format!("`{name}` cannot be the name of an object");
            return Err(unwritable(path, problem));
        }
        match item {
            Item::Group(members) => {
                let mut child = group.create_group(&name);
                fill(&mut child, &place, members, level)?;
                group.add_group(child.finish());
            }
            Item::Text(text) => {
                if text.values.iter().any(|value| value.contains('\0')) {
                    let problem = "a text has a zero byte, where HDF5 ends it";
                    return Err(unwritable(&place, problem));
                }
                let values: Vec<&str> = text.values.iter().map(String::as_str).collect();
                group
                    .create_dataset(&name)
                    .with_vlen_strings(&values)
                    .with_shape(&sizes(&text.shape));
            }
            Item::Tensor(tensor) => {
                let written = put(group.create_dataset(&name), tensor, level);
                written.map_err(|error| unwritable(&place, error))?;
            }
            Item::Unsupported(what) => return Err(unwritable(&place, format!("this is {what}"))),
        }
    }
    Ok(())
}

fn sizes(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&size| size as u64).collect()
}

fn put(
    dataset: &mut DatasetBuilder,
    tensor: Tensor,
    level: Option<u32>,
) -> Result<(), FormatError> {
    let (shape, len) = (sizes(tensor.shape()), tensor.len() as u64);
    let datatype = datatype(tensor.dtype())?;
    let bytes = tensor.into_bytes();
    let is_compressed =
        (MIN_COMPRESSED..MAX_COMPRESSED).contains(&bytes.len()) && !shape.is_empty();
    dataset
        .with_raw_data(datatype, bytes, len)
        .with_shape(&shape);
    if let Some(level) = level.filter(|_| is_compressed) {
        dataset
            .with_chunks(&shape)
            .with_deflate(level.min(MAX_LEVEL));
    }
    Ok(())
}
