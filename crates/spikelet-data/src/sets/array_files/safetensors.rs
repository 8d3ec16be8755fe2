//! Safetensors: the length of a header, the header in JSON, and the numbers.
//!
//! Source: <https://github.com/huggingface/safetensors>.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use spikelet_weights::arrays::{Number, Source as _};

use super::array::{Array, Source};
use super::{check_count, format_error};
use crate::error::Result;

/// The longest header that the format allows.
const MAX_HEADER: u64 = 100_000_000;

const HELP: &str = "the file was not copied to its end, or is no safetensors file; get it again";

#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

pub(super) fn open(path: &Path, names: &[&str]) -> Result<Vec<(String, Array)>> {
    open_source(Source::open(path)?, names)
}

/// The tensors of a file that may be in memory.
pub(super) fn open_source(source: Source, names: &[&str]) -> Result<Vec<(String, Array)>> {
    let path = source.path.as_path();
    let error = |offset, problem: String| format_error(path, offset, problem, HELP);
    let len = source.read(0, 8)?;
    let len = len.try_into().map_or(u64::MAX, u64::from_le_bytes);
    if len > MAX_HEADER {
        return Err(error(0, format!("a header of {len} bytes is too long")));
    }
    let header = source.read(8, len as usize)?;
    let damaged =
        |problem: serde_json::Error| error(8, format!("the header is damaged: {problem}"));
    let header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&header).map_err(damaged)?;
    let mut tensors = BTreeMap::new();
    for (name, entry) in &header {
        if name != "__metadata__" {
            tensors.insert(name.as_str(), Info::deserialize(entry).map_err(damaged)?);
        }
    }
    let wanted: Vec<&str> = match names {
        [] => {
            check_count(path, tensors.len())?;
            tensors.keys().copied().collect()
        }
        names => names.to_vec(),
    };
    let array = |name: &str| {
        let info = tensors.get(name).ok_or_else(|| {
            let known: Vec<&str> = tensors.keys().copied().collect();
            let problem = format!("no tensor `{name}`; there are: {}", known.join(", "));
            format_error(path, 8, problem, "use one of these names")
        })?;
        let number = number(&info.dtype)
            .ok_or_else(|| error(8, format!("`{name}` has the unknown type {}", info.dtype)))?;
        let [begin, end] = info
            .data_offsets
            .map(|offset| offset.saturating_add(8 + len));
        let array = Array::new(source.clone(), (begin, end), number, false, &info.shape)?;
        Ok((name.to_owned(), array))
    };
    wanted.into_iter().map(array).collect()
}

fn number(dtype: &str) -> Option<Number> {
    Some(match dtype {
        "BOOL" | "U8" => Number::U8,
        "I8" => Number::I8,
        "U16" => Number::U16,
        "I16" => Number::I16,
        "U32" => Number::U32,
        "I32" => Number::I32,
        "U64" => Number::U64,
        "I64" => Number::I64,
        "F16" => Number::F16,
        "BF16" => Number::BF16,
        "F32" => Number::F32,
        "F64" => Number::F64,
        _ => return None,
    })
}
