//! What the functions in pickles of PyTorch make: tensors, storages and containers.

use super::value::{Global, Heap, Object, StorageRef, TensorRef, Value};
use crate::dtype::Dtype;

/// The most axes of a tensor.
const MAX_AXES: usize = 64;

/// The longest key of a storage.
const MAX_KEY: usize = 256;

/// The result of a call.
pub(super) fn call(heap: &mut Heap, function: Value, arguments: Value) -> Result<Value, String> {
    let Value::Global(global) = function else {
        return Err(format!("{} is called", heap.describe(function)));
    };
    let Some(Object::Tuple(given)) = heap.object(arguments) else {
        return Err(format!(
            "the arguments of a call are {}",
            heap.describe(arguments)
        ));
    };
    match (global, &given[..]) {
        (Global::Dict, arguments) => {
            let entries = match arguments {
                [] | [Value::None | Value::Global(_)] => vec![],
                [pairs] => pairs_of(heap, *pairs)?,
                _ => return Err("a dictionary is made of several values".into()),
            };
            heap.add(Object::Dict(entries))
        }
        (Global::Opaque, _) => heap.add(Object::Opaque),
        (Global::Size, &[sizes]) => match heap.sequence(sizes) {
            Some(sizes) => {
                let sizes = sizes.into();
                heap.add(Object::Tuple(sizes))
            }
            None => Err(format!("a torch.Size is made of {}", heap.describe(sizes))),
        },
        (Global::RebuildTensor, &[storage, offset, shape, strides, ref rest @ ..]) => {
            if let [_, hooks, ..] = *rest {
                no_hooks(heap, hooks)?;
            }
            tensor(heap, storage, None, offset, shape, strides)
        }
        (
            Global::RebuildTypedTensor,
            &[
                storage,
                offset,
                shape,
                strides,
                _,
                hooks,
                Value::Global(Global::Dtype(dtype)),
                ..,
            ],
        ) => {
            no_hooks(heap, hooks)?;
            tensor(heap, storage, Some(dtype), offset, shape, strides)
        }
        (Global::RebuildParameter, &[tensor, _, hooks, ..]) => {
            no_hooks(heap, hooks)?;
            match heap.tensor(tensor) {
                Some(_) => Ok(tensor),
                None => Err(format!("a parameter is made of {}", heap.describe(tensor))),
            }
        }
        (Global::Storage(_) | Global::Dtype(_), _) => {
            Err("a storage, tensor or type is made without a storage".into())
        }
        (_, given) => Err(format!(
            "{global:?} is called with {} arguments",
            given.len()
        )),
    }
}

/// The pairs of a list or dictionary.
fn pairs_of(heap: &Heap, pairs: Value) -> Result<Vec<(Value, Value)>, String> {
    if let Some(entries) = heap.dict(pairs) {
        return Ok(entries.to_vec());
    }
    let pair = |&pair: &Value| match heap.sequence(pair) {
        Some(&[key, value]) => {
            check_key(heap, key)?;
            Ok((key, value))
        }
        _ => Err("a dictionary is made of values that are no pairs".to_owned()),
    };
    match heap.sequence(pairs) {
        Some(pairs) => pairs.iter().map(pair).collect(),
        None => Err(format!("a dictionary is made of {}", heap.describe(pairs))),
    }
}

/// Checks that a value can be a key of a dictionary.
pub(super) fn check_key(heap: &Heap, key: Value) -> Result<(), String> {
    match heap.object(key) {
        Some(Object::List(_) | Object::Dict(_)) => {
            Err(format!("{} is the key of a dictionary", heap.describe(key)))
        }
        _ => Ok(()),
    }
}

fn no_hooks(heap: &Heap, hooks: Value) -> Result<(), String> {
    match hooks {
        Value::None => Ok(()),
        _ if heap.dict(hooks).is_some_and(<[_]>::is_empty) => Ok(()),
        _ => Err("a tensor has backward hooks".into()),
    }
}

fn sizes(heap: &Heap, value: Value, name: &str) -> Result<Vec<u64>, String> {
    let Some(values) = heap.sequence(value) else {
        return Err(format!(
            "the {name} of a tensor are {}",
            heap.describe(value)
        ));
    };
    if values.len() > MAX_AXES {
        return Err(format!(
            "a tensor has {} axes; at most {MAX_AXES} are read",
            values.len()
        ));
    }
    let size = |&size: &Value| match size {
        Value::Int(size) => {
            u64::try_from(size).map_err(|_| format!("the {name} of a tensor have {size}"))
        }
        other => Err(format!(
            "the {name} of a tensor have {}",
            heap.describe(other)
        )),
    };
    values.iter().map(size).collect()
}

fn tensor(
    heap: &mut Heap,
    storage: Value,
    dtype: Option<Dtype>,
    offset: Value,
    shape: Value,
    strides: Value,
) -> Result<Value, String> {
    let Some(Object::Storage(storage)) = heap.object(storage) else {
        return Err(format!("a tensor is made of {}", heap.describe(storage)));
    };
    let Value::Int(given) = offset else {
        return Err(format!(
            "the offset of a tensor is {}",
            heap.describe(offset)
        ));
    };
    let offset = u64::try_from(given).map_err(|_| format!("the offset of a tensor is {given}"))?;
    let (shape, strides) = (
        sizes(heap, shape, "sizes")?,
        sizes(heap, strides, "strides")?,
    );
    let tensor = tensor_of((**storage).clone(), dtype, offset, &shape, strides)?;
    heap.add(Object::Tensor(Box::new(tensor)))
}

/// A tensor that is inside its storage.
pub(in super::super) fn tensor_of(
    storage: StorageRef,
    dtype: Option<Dtype>,
    offset: u64,
    shape: &[u64],
    strides: Vec<u64>,
) -> Result<TensorRef, String> {
    let dtype = match (storage.dtype, dtype) {
        (Some(own), None) => own,
        (None, Some(dtype)) => dtype,
        (Some(own), Some(dtype)) if own == dtype => own,
        _ => return Err("the type of a tensor and that of its storage do not agree".into()),
    };
    if shape.len() != strides.len() {
        let (shape, strides) = (shape.len(), strides.len());
        return Err(format!("a tensor has {shape} sizes and {strides} strides"));
    }
    let too_many = || format!("a tensor of {shape:?} has too many elements");
    let count = |n: usize, &size: &u64| n.checked_mul(usize::try_from(size).ok()?);
    let len = shape.iter().try_fold(1, count).ok_or_else(too_many)?;
    len.checked_mul(dtype.bytes()).ok_or_else(too_many)?;
    let elements = match storage.dtype {
        Some(_) => storage.len,
        None => storage.len / dtype.bytes() as u64,
    };
    let axes = shape.iter().zip(&strides);
    let last = axes.fold(u128::from(offset), |last, (&size, &stride)| {
        let span = u128::from(size.saturating_sub(1)).saturating_mul(u128::from(stride));
        last.saturating_add(span)
    });
    let outside = match len {
        0 => offset > elements,
        _ => last >= u128::from(elements),
    };
    if outside {
        return Err(format!(
            "a tensor of {shape:?} with strides {strides:?} and offset {offset} does not fit into its storage of {elements} elements"
        ));
    }
    Ok(TensorRef {
        storage,
        dtype,
        offset,
        shape: shape.iter().map(|&size| size as usize).collect(),
        strides,
    })
}

/// The storage of a persistent id: `('storage', class, key, location, len[, view])`.
pub(super) fn storage(heap: &mut Heap, id: Value) -> Result<Value, String> {
    let Some(parts) = heap.sequence(id) else {
        return Err(format!("a persistent id is {}", heap.describe(id)));
    };
    let [kind, class, key, _, len, ref view @ ..] = *parts else {
        return Err("a persistent id is no storage".into());
    };
    if heap.text(kind) != Some("storage") {
        let kind: String = heap
            .text(kind)
            .unwrap_or("of another kind")
            .chars()
            .take(40)
            .collect();
        return Err(format!("a persistent id is `{kind}`; expected `storage`"));
    }
    let Value::Global(Global::Storage(dtype)) = class else {
        return Err("the class of a storage is unknown".into());
    };
    let key = match (key, heap.text(key)) {
        (_, Some(key)) if key.len() > MAX_KEY => {
            return Err(format!("the key of a storage has {} bytes", key.len()));
        }
        (_, Some(key)) => key.to_owned(),
        (Value::Int(key), _) => key.to_string(),
        _ => return Err(format!("the key of a storage is {}", heap.describe(key))),
    };
    let number = |value: Value| match value {
        Value::Int(value) => {
            u64::try_from(value).map_err(|_| format!("a storage has {value} elements"))
        }
        other => Err(format!(
            "the length of a storage is {}",
            heap.describe(other)
        )),
    };
    let (mut len, mut offset) = (number(len)?, 0);
    if let [view @ Value::Object(_)] = *view {
        if dtype.is_none() {
            return Err("a storage without a type is a view".into());
        }
        let Some(&[_, first, view_len]) = heap.sequence(view) else {
            return Err("the view of a storage is no triple".into());
        };
        let (first, view_len) = (number(first)?, number(view_len)?);
        if first.checked_add(view_len).is_none_or(|end| end > len) {
            return Err(format!(
                "a view of {view_len} elements from {first} on does not fit into a storage of {len}"
            ));
        }
        (offset, len) = (first, view_len);
    }
    heap.add(Object::Storage(Box::new(StorageRef {
        key,
        dtype,
        len,
        offset,
    })))
}
