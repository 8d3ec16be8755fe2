//! The zip format of `torch.save` is written: `torch.load(weights_only=True)` reads it.
//!
//! The pickle is an `OrderedDict` of tensors, each with a storage of its own. Records are stored without compression,
//! their bytes aligned to 64.
//!
//! Source: PKWARE, *APPNOTE.TXT*; PyTorch, `caffe2/serialize/inline_container.cc`.

use std::io::Write;

use super::pickle::storage_class;
use crate::arrays::archive::Archive;
use crate::dtype::Dtype;
use crate::error::{ErrorKind, Result};
use crate::tensor::Tensor;

/// The folder of the archive.
const FOLDER: &str = "archive";

/// Writes a state dict.
pub(crate) fn write(tensors: &[(String, Tensor)], file: &mut dyn Write) -> Result<()> {
    let mut archive = Archive::new(file);
    let mut record =
        |name: &str, bytes: &[u8]| archive.add(&format!("{FOLDER}/{name}"), &[bytes], false);
    let mut put = || {
        record("data.pkl", &pickle(tensors))?;
        record("byteorder", b"little")?;
        for (key, (_, tensor)) in tensors.iter().enumerate() {
            record(&format!("data/{key}"), tensor.bytes())?;
        }
        record("version", b"3\n")
    };
    let written = put().and_then(|()| archive.finish());
    written.map_err(|error| ErrorKind::Write(error).into())
}

fn pickle(tensors: &[(String, Tensor)]) -> Vec<u8> {
    let mut out = b"\x80\x02ccollections\nOrderedDict\n)R(".to_vec();
    for (key, (name, tensor)) in tensors.iter().enumerate() {
        text(&mut out, name);
        let dtype = tensor.dtype();
        let class = storage_class(dtype);
        // Types without a class of storages have bytes, and the type is an argument.
        let (function, storage, len) = match class {
            Some(class) => (
                "_rebuild_tensor_v2",
                format!("torch\n{class}"),
                tensor.len(),
            ),
            None => (
                "_rebuild_tensor_v3",
                "torch.storage\nUntypedStorage".into(),
                tensor.bytes().len(),
            ),
        };
        out.extend(format!("ctorch._utils\n{function}\n((").bytes());
        text(&mut out, "storage");
        out.extend(format!("c{storage}\n").bytes());
        text(&mut out, &key.to_string());
        text(&mut out, "cpu");
        integer(&mut out, len as u64);
        // The persistent id, the offset, sizes and strides.
        out.extend(b"tQK\0(");
        tensor
            .shape()
            .iter()
            .for_each(|&size| integer(&mut out, size as u64));
        out.extend(b"t(");
        strides(tensor.shape())
            .iter()
            .for_each(|&stride| integer(&mut out, stride));
        // No gradient, no hooks.
        out.extend(b"t\x89ccollections\nOrderedDict\n)R");
        if class.is_none() {
            out.extend(format!("ctorch\n{}\n", untyped_name(dtype)).bytes());
        }
        out.extend(b"tR");
    }
    out.extend(b"u.");
    out
}

/// The name in PyTorch of a type without a class of storages.
fn untyped_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::U16 => "uint16",
        Dtype::U32 => "uint32",
        _ => "uint64",
    }
}

fn strides(shape: &[usize]) -> Vec<u64> {
    let mut stride = 1_u64;
    let mut strides: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&size| {
            let own = stride;
            stride = stride.saturating_mul(size.max(1) as u64);
            own
        })
        .collect();
    strides.reverse();
    strides
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'X');
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.bytes());
}

fn integer(out: &mut Vec<u8>, value: u64) {
    match i32::try_from(value) {
        Ok(value) => {
            out.push(b'J');
            out.extend(value.to_le_bytes());
        }
        // Nine bytes are positive, whatever the upper bit of the eighth is.
        Err(_) => {
            out.extend(b"\x8a\x09");
            out.extend(value.to_le_bytes());
            out.push(0);
        }
    }
}
