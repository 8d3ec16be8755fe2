//! `torch.save` before PyTorch 1.6: five pickles in a row, then the storages.
//!
//! ```text
//! pickles     a magic number, 1001, facts of the system, the object, the keys of the storages
//! storages    for each key the number of elements, i64, and the elements, little-endian
//! ```

use std::collections::HashMap;
use std::io::BufReader;

use crate::arrays::Source as _;

use super::pickle::{Object, PersistentIds, Unpickler, Value};
use super::storages::Storages;
use super::{Checkpoint, Reading};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::source::FileSource;

/// 0x1950a86a20f9469cfc6c as a pickle of protocol 2: ten bytes, little-endian.
const MAGIC: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

const VERSION: Value = Value::Int(1001);

pub(super) fn read(source: &FileSource, reading: &mut Reading<'_>) -> Result<Checkpoint> {
    let len = source.len();
    let mut input = BufReader::new(source.part(0, len));
    let mut unpickler = Unpickler::new(&mut input, len, "the stream", PersistentIds::Storages);
    let is_stream = source.start(0, 2 + MAGIC.len())?.ends_with(MAGIC);
    unpickler.load()?;
    if !is_stream {
        let problem = "a pickle without the magic number of torch.save";
        return Err(unpickler.damaged(0, problem));
    }
    if unpickler.load()? != VERSION {
        let position = unpickler.position();
        return Err(unpickler.damaged(position, "the version of the format is not 1001"));
    }
    unpickler.load()?;
    let root = unpickler.load()?;
    let keys = unpickler.load()?;
    let mut start = unpickler.position();
    let heap = &unpickler.heap;
    let damaged = |position: u64, problem: String| Err(unpickler.damaged(position, problem));
    let Some(keys) = heap.sequence(keys) else {
        return damaged(
            start,
            format!("the keys of the storages are {}", heap.describe(keys)),
        );
    };
    let types: HashMap<&str, Option<Dtype>> = heap
        .storages()
        .map(|own| (own.key.as_str(), own.dtype))
        .collect();
    let mut ranges = HashMap::new();
    for &key in keys {
        let key = match (heap.object(key), key) {
            (Some(Object::Text(key)), _) => key.to_string(),
            (_, Value::Int(key)) => key.to_string(),
            _ => {
                return damaged(
                    start,
                    format!("the key of a storage is {}", heap.describe(key)),
                );
            }
        };
        let Some(&dtype) = types.get(key.as_str()) else {
            let key: String = key.chars().take(40).collect();
            return damaged(start, format!("the storage `{key}` belongs to no tensor"));
        };
        let count = source.read(start, 8)?;
        let count = i64::from_le_bytes(count.try_into().unwrap_or_default());
        let bytes = u64::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(dtype.map_or(1, Dtype::bytes) as u64));
        let end = bytes.and_then(|bytes| (start + 8).checked_add(bytes));
        match (bytes, end) {
            (Some(bytes), Some(end)) if end <= len => {
                ranges.insert(key, (start + 8, bytes));
                start = end;
            }
            _ => {
                return damaged(
                    start,
                    format!("a storage of {count} elements is behind the end of the file"),
                );
            }
        }
    }
    reading.finish(heap, root, &Storages::Ranges { source, ranges })
}
