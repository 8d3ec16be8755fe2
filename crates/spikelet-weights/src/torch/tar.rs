//! `torch.save` of PyTorch 0.1: a tar archive.
//!
//! ```text
//! storages    the number of storages; for each a pickle (key, location, class), the number of elements as i64, the
//!             elements; then a pickle of views: (key, key of the storage, first element, number of elements)
//! tensors     the number of tensors; for each a pickle (key, key of the storage, class), the number of axes as i32,
//!             4 bytes, sizes, strides and offset as i64
//! pickle      the object, with the keys of tensors as persistent ids
//! ```

use std::collections::HashMap;
use std::io::BufReader;

use super::pickle::{
    Global, Heap, PersistentIds, StorageRef, TensorRef, Unpickler, Value, tensor_of,
};
use super::storages::Storages;
use super::{Checkpoint, Reading};
use crate::dtype::Dtype;
use crate::error::{Error, ErrorKind, Result};
use crate::source::FileSource;

/// The most axes of a tensor.
const MAX_AXES: u64 = 64;

/// The position and the length of members, by name.
type Members = HashMap<String, (u64, u64)>;

pub(super) fn read(source: &FileSource, reading: &mut Reading<'_>) -> Result<Checkpoint> {
    let members = members(source)?;
    let (storages, ranges) = storages(source, &members)?;
    let tensors = tensors(source, &members, &storages)?;
    let (start, len) = member(&members, "pickle")?;
    let mut input = BufReader::new(source.part(start, len));
    let mut unpickler = Unpickler::new(&mut input, len, "pickle", PersistentIds::Tensors(tensors));
    let root = unpickler.load()?;
    reading.finish(&unpickler.heap, root, &Storages::Ranges { source, ranges })
}

fn damaged(place: &str, problem: impl ToString) -> Error {
    ErrorKind::Damaged {
        format: "PyTorch checkpoint (tar)",
        place: place.into(),
        problem: problem.to_string(),
        help: "save the state_dict() again with a newer torch.save",
    }
    .into()
}

fn members(source: &FileSource) -> Result<Members> {
    let mut members = Members::new();
    let mut archive = tar::Archive::new(source.part(0, source.len()));
    let entries = archive
        .entries()
        .map_err(|error| damaged("archive", error))?;
    for entry in entries {
        let entry = entry.map_err(|error| damaged("archive", error))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let (start, len) = (entry.raw_file_position(), entry.size());
        if !matches!(name.as_str(), "storages" | "tensors" | "pickle") {
            continue;
        }
        if !entry.header().entry_type().is_file()
            || start.checked_add(len).is_none_or(|end| end > source.len())
        {
            return Err(damaged(&name, "the member is no file, or not complete"));
        }
        if members.insert(name.clone(), (start, len)).is_some() {
            return Err(damaged(&name, "the archive has two members of this name"));
        }
    }
    Ok(members)
}

fn member(members: &Members, name: &str) -> Result<(u64, u64)> {
    let own = members.get(name);
    own.copied()
        .ok_or_else(|| damaged(name, "the archive has no such member"))
}

/// The storages by key, and the ranges of the file that they are in.
fn storages(
    source: &FileSource,
    members: &Members,
) -> Result<(HashMap<String, StorageRef>, Members)> {
    let (start, len) = member(members, "storages")?;
    let mut input = BufReader::new(source.part(start, len));
    let mut unpickler = Unpickler::new(&mut input, len, "storages", PersistentIds::Storages);
    let (mut storages, mut ranges) = (HashMap::new(), Members::new());
    for _ in 0..count(&mut unpickler)? {
        let value = unpickler.load()?;
        let parts = unpickler.heap.sequence(value).unwrap_or(&[]);
        let &[key, _, Value::Global(Global::Storage(Some(dtype)))] = parts else {
            return Err(damaged("storages", "a storage has no key and class"));
        };
        let key = key_of(&unpickler.heap, key)?;
        let len = integer(&mut unpickler)?;
        let bytes = len.checked_mul(dtype.bytes() as u64);
        let bytes =
            bytes.ok_or_else(|| damaged("storages", format!("a storage has {len} elements")))?;
        ranges.insert(key.clone(), (start + unpickler.position(), bytes));
        unpickler.skip(bytes)?;
        storages.insert(key.clone(), storage(key, dtype, len));
    }
    let views = unpickler.load()?;
    let heap = &unpickler.heap;
    for &view in heap.sequence(views).unwrap_or(&[]) {
        let Some(&[key, root, Value::Int(first), Value::Int(len)]) = heap.sequence(view) else {
            return Err(damaged("storages", "a view has no keys, offset and length"));
        };
        let own = storages.get(&key_of(heap, root)?).filter(|own| {
            let end = first.checked_add(len).filter(|_| first >= 0 && len >= 0);
            end.is_some_and(|end| end as u64 <= own.len)
        });
        let own = own.ok_or_else(|| damaged("storages", "a view is outside of its storage"))?;
        let view = StorageRef {
            offset: own.offset + first as u64,
            len: len as u64,
            ..own.clone()
        };
        storages.insert(key_of(heap, key)?, view);
    }
    Ok((storages, ranges))
}

fn storage(key: String, dtype: Dtype, len: u64) -> StorageRef {
    StorageRef {
        key,
        dtype: Some(dtype),
        len,
        offset: 0,
    }
}

/// The tensors by key.
fn tensors(
    source: &FileSource,
    members: &Members,
    storages: &HashMap<String, StorageRef>,
) -> Result<HashMap<String, TensorRef>> {
    let (start, len) = member(members, "tensors")?;
    let mut input = BufReader::new(source.part(start, len));
    let mut unpickler = Unpickler::new(&mut input, len, "tensors", PersistentIds::Storages);
    let mut tensors = HashMap::new();
    for _ in 0..count(&mut unpickler)? {
        let value = unpickler.load()?;
        let Some(&[key, storage, _]) = unpickler.heap.sequence(value) else {
            return Err(damaged("tensors", "a tensor has no key and storage"));
        };
        let key = key_of(&unpickler.heap, key)?;
        let storage = storages.get(&key_of(&unpickler.heap, storage)?);
        let storage = storage
            .ok_or_else(|| damaged("tensors", format!("the storage of tensor {key} is missing")))?;
        // The number of axes was written with 8 bytes; the upper ones may be anything.
        let axes = unpickler.bytes(8)?;
        let axes = u64::from(u32::from_le_bytes([axes[0], axes[1], axes[2], axes[3]]));
        if axes > MAX_AXES {
            return Err(damaged("tensors", format!("tensor {key} has {axes} axes")));
        }
        let mut sizes = || {
            (0..axes)
                .map(|_| integer(&mut unpickler))
                .collect::<Result<Vec<u64>>>()
        };
        let (shape, strides) = (sizes()?, sizes()?);
        let offset = integer(&mut unpickler)?;
        let tensor = tensor_of(storage.clone(), None, offset, &shape, strides);
        tensors.insert(key, tensor.map_err(|problem| damaged("tensors", problem))?);
    }
    Ok(tensors)
}

/// A pickled number of things that follow.
fn count(unpickler: &mut Unpickler<'_>) -> Result<i64> {
    let position = unpickler.position();
    match unpickler.load()? {
        Value::Int(count) if count >= 0 => Ok(count),
        _ => Err(unpickler.damaged(position, "a number of storages or tensors is expected")),
    }
}

/// A size that is not pickled.
fn integer(unpickler: &mut Unpickler<'_>) -> Result<u64> {
    let position = unpickler.position();
    let bytes = unpickler.bytes(8)?;
    let value = i64::from_le_bytes(bytes.try_into().unwrap_or_default());
    u64::try_from(value).map_err(|_| unpickler.damaged(position, format!("a size is {value}")))
}

fn key_of(heap: &Heap, key: Value) -> Result<String> {
    match (key, heap.text(key)) {
        (_, Some(key)) if key.len() <= 64 => Ok(key.to_owned()),
        (Value::Int(key), _) => Ok(key.to_string()),
        _ => Err(damaged("keys", format!("a key is {}", heap.describe(key)))),
    }
}
