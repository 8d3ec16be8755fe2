//! Safetensors: the length of a header, the header in JSON, and the elements of all tensors.
//!
//! Names that occur twice, tensors that overlap and bytes that belong to none are errors, as the format demands. The
//! crate `safetensors` keeps the last of two entries with the same name, and needs the file in memory.
//!
//! Source: <https://github.com/huggingface/safetensors>.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::Write;

use crate::arrays::Source as _;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;
use crate::source::FileSource;
use crate::tensor::{Tensor, element_count};

/// The longest header that the format allows.
const MAX_HEADER: u64 = 100_000_000;

/// The bytes of the length of the header, and what the header is filled up to.
const LENGTH: u64 = 8;

#[derive(Deserialize, Serialize)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// The entries of a header, without metadata.
struct Header(Vec<(String, Info)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let (mut entries, mut names) = (vec![], HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format!("the name `{name}` occurs twice")));
            }
            if name == "__metadata__" {
                map.next_value::<HashMap<String, String>>()?;
            } else {
                entries.push((name, map.next_value()?));
            }
        }
        Ok(Header(entries))
    }
}

fn damaged(place: String, problem: impl ToString) -> Error {
    ErrorKind::Damaged {
        format: "safetensors",
        place,
        problem: problem.to_string(),
        help: "the file was not copied to its end, or is damaged; get it again",
    }
    .into()
}

/// The tensors in the order of the header.
pub(crate) fn read(source: &FileSource, budget: &mut Budget) -> Result<Vec<(String, Tensor)>> {
    let len = source.read(0, LENGTH as usize)?;
    let len = u64::from_le_bytes(len.try_into().unwrap_or_default());
    if len > MAX_HEADER || len > source.len() - LENGTH {
        let problem = format!(
            "a header of {len} bytes is claimed; the file has {}",
            source.len()
        );
        return Err(damaged("byte 0".into(), problem));
    }
    let header = source.read(LENGTH, len as usize)?;
    let Header(entries) =
        serde_json::from_slice(&header).map_err(|error| damaged("header".into(), error))?;
    drop(header);
    let start = LENGTH + len;
    check_cover(&entries, source.len() - start)?;
    let tensor = |(name, info): (String, Info)| {
        let (dtype, len) = layout(&name, &info)?;
        budget.take(len).map_err(|limit| ErrorKind::TooLarge {
            of: format!("the tensor `{name}`"),
            bytes: len,
            limit,
        })?;
        let bytes = source.read(start + info.data_offsets[0], len as usize)?;
        Ok((name, Tensor::new(dtype, info.shape, bytes)?))
    };
    entries.into_iter().map(tensor).collect()
}

/// The type and the number of bytes of a tensor.
fn layout(name: &str, info: &Info) -> Result<(Dtype, u64)> {
    let place = || format!("tensor `{}`", name.chars().take(120).collect::<String>());
    let dtype = Dtype::from_name(&info.dtype);
    let dtype = dtype.ok_or_else(|| {
        let known = Dtype::ALL.map(Dtype::name).join(", ");
        let given: String = info.dtype.chars().take(40).collect();
        damaged(
            place(),
            format!("the type {given} is unknown; known are {known}"),
        )
    })?;
    let bytes = element_count(&info.shape, dtype).map(|len| (len * dtype.bytes()) as u64);
    let [begin, end] = info.data_offsets;
    match end.checked_sub(begin) {
        Some(len) if Some(len) == bytes => Ok((dtype, len)),
        _ => Err(damaged(
            place(),
            format!(
                "{} {:?} takes {} bytes; the offsets are {begin} and {end}",
                info.dtype,
                info.shape,
                bytes.map_or("more than 2^64".into(), |bytes| bytes.to_string())
            ),
        )),
    }
}

/// Checks that the tensors cover all bytes, each once.
fn check_cover(entries: &[(String, Info)], len: u64) -> Result<()> {
    let mut ranges: Vec<([u64; 2], &str)> = entries
        .iter()
        .map(|(name, info)| (info.data_offsets, name.as_str()))
        .collect();
    ranges.sort_unstable();
    let mut covered = 0;
    for ([begin, end], name) in ranges {
        if begin != covered || end < begin || end > len {
            let place = format!("tensor `{}`", name.chars().take(120).collect::<String>());
            let problem = format!(
                "the offsets are {begin} and {end}; the tensors before end at {covered}, the file at {len}"
            );
            return Err(damaged(place, problem));
        }
        covered = end;
    }
    match covered == len {
        true => Ok(()),
        false => Err(damaged(
            "end".into(),
            format!("{} bytes belong to no tensor", len - covered),
        )),
    }
}

/// Writes tensors, those with large elements first, so that all are aligned; then by name.
pub(crate) fn write(tensors: &[(String, Tensor)], file: &mut dyn Write) -> Result<()> {
    let mut sorted: Vec<&(String, Tensor)> = tensors.iter().collect();
    sorted.sort_by_key(|(name, tensor)| (std::cmp::Reverse(tensor.dtype().bytes()), name));
    let mut header = serde_json::Map::new();
    let mut begin = 0;
    for (name, tensor) in &sorted {
        let end = begin + tensor.bytes().len() as u64;
        let info = Info {
            dtype: tensor.dtype().name().into(),
            shape: tensor.shape().to_vec(),
            data_offsets: [begin, end],
        };
        let info = serde_json::to_value(info).map_err(|error| damaged(name.clone(), error))?;
        header.insert(name.clone(), info);
        begin = end;
    }
    let mut header = serde_json::Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(LENGTH as usize), b' ');
    let mut written = file.write_all(&(header.len() as u64).to_le_bytes());
    written = written.and_then(|()| file.write_all(&header));
    for (_, tensor) in sorted {
        written = written.and_then(|()| file.write_all(tensor.bytes()));
    }
    written.map_err(|error| ErrorKind::Write(error).into())
}
