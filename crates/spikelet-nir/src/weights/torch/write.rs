//! The zip format of `torch.save` is written: `torch.load(weights_only=True)` reads it.
//!
//! The pickle is an `OrderedDict` of tensors, each with a storage of its own. Records are stored without compression,
//! their bytes aligned to 64.
//!
//! Source: PKWARE, *APPNOTE.TXT*; PyTorch, `caffe2/serialize/inline_container.cc`.

use std::io::{self, Write};

use flate2::Crc;

use super::pickle::storage_class;
use crate::dtype::Dtype;
use crate::error::{ErrorKind, Result};
use crate::tensor::Tensor;

/// What records are aligned to.
const ALIGNMENT: u64 = 64;

/// The folder of the archive.
const FOLDER: &str = "archive";

/// Writes a state dict.
pub(in super::super) fn write(tensors: &[(String, Tensor)], file: &mut dyn Write) -> Result<()> {
    let mut archive = Archive {
        file,
        position: 0,
        directory: vec![],
        count: 0,
    };
    let mut put = || -> io::Result<()> {
        archive.record("data.pkl", &pickle(tensors))?;
        archive.record("byteorder", b"little")?;
        for (key, (_, tensor)) in tensors.iter().enumerate() {
            archive.record(&format!("data/{key}"), tensor.bytes())?;
        }
        archive.record("version", b"3\n")
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

/// A zip archive that is written from its start to its end.
struct Archive<'a> {
    file: &'a mut dyn Write,
    position: u64,
    directory: Vec<u8>,
    count: u64,
}

impl Archive<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Writes a record. Sizes and positions are in fields of 64 bits, which every record has.
    fn record(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let name = format!("{FOLDER}/{name}");
        let mut crc = Crc::new();
        crc.update(bytes);
        let (start, len) = (self.position, bytes.len() as u64);
        // Version 4.5, text in UTF-8, stored, 1980-01-01.
        let mut fields = vec![45, 0, 0, 8, 0, 0, 0, 0, 0x21, 0];
        fields.extend(crc.sum().to_le_bytes());
        fields.extend([0xff; 8]);
        fields.extend((name.len() as u16).to_le_bytes());
        let mut sizes = vec![1, 0, 16, 0];
        sizes.extend(len.to_le_bytes());
        sizes.extend(len.to_le_bytes());
        // PyTorch's own field fills up to the alignment.
        let head = start + 30 + name.len() as u64 + sizes.len() as u64 + 4;
        let padding = (head.next_multiple_of(ALIGNMENT) - head) as u16;
        self.put(b"PK\x03\x04")?;
        self.put(&fields)?;
        self.put(&(sizes.len() as u16 + 4 + padding).to_le_bytes())?;
        self.put(name.as_bytes())?;
        self.put(&sizes)?;
        self.put(b"FB")?;
        self.put(&padding.to_le_bytes())?;
        self.put(&vec![b'Z'; padding.into()])?;
        self.put(bytes)?;
        let mut extra = vec![1, 0, 24, 0];
        extra.extend(len.to_le_bytes());
        extra.extend(len.to_le_bytes());
        extra.extend(start.to_le_bytes());
        self.directory.extend(b"PK\x01\x02\x2d\0");
        self.directory.extend(&fields);
        self.directory.extend((extra.len() as u16).to_le_bytes());
        // Comment, disk, attributes; the position is in the field of 64 bits.
        self.directory.extend([0; 10]);
        self.directory.extend([0xff; 4]);
        self.directory.extend(name.as_bytes());
        self.directory.extend(extra);
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        let (start, directory) = (self.position, std::mem::take(&mut self.directory));
        self.put(&directory)?;
        let (len, end) = (directory.len() as u64, self.position);
        // The end record of 64 bits, its locator, and the end record, which points to them.
        self.put(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0")?;
        for value in [self.count, self.count, len, start] {
            self.put(&value.to_le_bytes())?;
        }
        self.put(b"PK\x06\x07\0\0\0\0")?;
        self.put(&end.to_le_bytes())?;
        self.put(b"\x01\0\0\0")?;
        self.put(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0")
    }
}
