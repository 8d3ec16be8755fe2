//! Tensor files: safetensors, written atomically.

use crate::RuntimeError;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::Value;
use spikelet_core::files;
use spikelet_core::files::FileError;
use spikelet_core::{Error, Result};
use spikelet_graph::{Data, Tensor, bf16, f16};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Named tensors with text metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorFile {
    /// The tensors by name.
    pub tensors: BTreeMap<String, Tensor>,
    /// The file's metadata.
    pub metadata: BTreeMap<String, String>,
}

/// The largest size of a header in bytes, which is that of the safetensors library.
const LARGEST_HEADER: u64 = 100_000_000;

fn damaged(path: &Path, problem: String) -> Error {
    Error::TensorFile {
        path: path.to_path_buf(),
        problem,
        help: "give a safetensors file with F32, F64, F16, BF16 or I64 tensors, written to its end"
            .to_string(),
    }
}

macro_rules! readout {
    ($type:ty, $bytes:expr) => {
        $bytes
            .chunks_exact(size_of::<$type>())
            .map(|b| {
                <$type>::from_le_bytes(b.try_into().expect("chunks have the size of the type"))
            })
            .collect()
    };
}

macro_rules! encode {
    ($values:expr) => {
        $values.iter().flat_map(|x| x.to_le_bytes()).collect()
    };
}

impl TensorFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is not a safetensors file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(&files::read(path)?, path)
    }

    /// Parses the bytes of a file; `path` is for messages.
    ///
    /// # Errors
    /// When they are not a safetensors file.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes)
            .map_err(|e| damaged(path, format!("not a tensor file: {e}")))?;
        let parsed = SafeTensors::deserialize(bytes)
            .map_err(|e| damaged(path, format!("not a tensor file: {e}")))?;
        let mut tensors = BTreeMap::new();
        for (name, view) in parsed.tensors() {
            let shape = view.shape().to_vec();
            let data = match view.dtype() {
                Dtype::F32 => Data::F32(readout!(f32, view.data())),
                Dtype::F64 => Data::F64(readout!(f64, view.data())),
                Dtype::F16 => Data::F16(readout!(f16, view.data())),
                Dtype::BF16 => Data::BF16(readout!(bf16, view.data())),
                Dtype::I64 => Data::I64(readout!(i64, view.data())),
                other => {
                    return Err(damaged(
                        path,
                        format!("tensor `{name}` has elements of type {other:?}"),
                    ));
                }
            };
            tensors.insert(name, Tensor { shape, data });
        }
        let metadata = header
            .metadata()
            .clone()
            .unwrap_or_default()
            .into_iter()
            .collect();
        Ok(Self { tensors, metadata })
    }

    /// Reads the metadata only: the header at the start of the file. Its tensors may have any size.
    ///
    /// # Errors
    /// When it cannot be read, is not a safetensors file, or does not have the size that its header gives.
    pub fn read_metadata(path: impl AsRef<Path>) -> Result<BTreeMap<String, String>> {
        let path = path.as_ref();
        // Checked before it is opened: opening a FIFO waits for a writer.
        let found = std::fs::metadata(path).map_err(FileError::io("read", path))?;
        if !found.is_file() {
            let path = path.to_path_buf();
            return Err(FileError::NotRegular { path }.into());
        }
        let wrong = |problem: &str| damaged(path, format!("not a tensor file: {problem}"));
        let mut file = File::open(path).map_err(FileError::io("read", path))?;
        let mut length = [0; 8];
        if found.len() < length.len() as u64 {
            return Err(wrong("it is too short for a header"));
        }
        file.read_exact(&mut length)
            .map_err(FileError::io("read", path))?;
        let length = u64::from_le_bytes(length);
        let after = length.checked_add(8).filter(|end| *end <= found.len());
        let Some(after) = after.filter(|_| length <= LARGEST_HEADER) else {
            return Err(wrong("its header is longer than the file"));
        };
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header)
            .map_err(FileError::io("read", path))?;
        let mut header: BTreeMap<String, Value> =
            serde_json::from_slice(&header).map_err(|e| wrong(&format!("its header: {e}")))?;
        let metadata = header.remove("__metadata__").unwrap_or_default();
        let metadata: Option<BTreeMap<String, String>> =
            serde_json::from_value(metadata).map_err(|e| wrong(&format!("its metadata: {e}")))?;
        let ends = header
            .values()
            .map(|tensor| tensor["data_offsets"][1].as_u64());
        let end = ends.map(|end| end.unwrap_or(u64::MAX)).max().unwrap_or(0);
        if after.checked_add(end) != Some(found.len()) {
            return Err(wrong("its size is not that of its tensors"));
        }
        Ok(metadata.unwrap_or_default())
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let encoded: Vec<(&String, Dtype, &Tensor, Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, tensor)| match &tensor.data {
                Data::F32(v) => (name, Dtype::F32, tensor, encode!(v)),
                Data::F64(v) => (name, Dtype::F64, tensor, encode!(v)),
                Data::F16(v) => (name, Dtype::F16, tensor, encode!(v)),
                Data::BF16(v) => (name, Dtype::BF16, tensor, encode!(v)),
                Data::I64(v) => (name, Dtype::I64, tensor, encode!(v)),
            })
            .collect();
        let mut views = vec![];
        for (name, dtype, tensor, bytes) in &encoded {
            let view = TensorView::new(*dtype, tensor.shape.clone(), bytes)
                .map_err(|e| damaged(path, format!("tensor `{name}`: {e}")))?;
            views.push((name.as_str(), view));
        }
        let metadata: HashMap<String, String> = self.metadata.clone().into_iter().collect();
        let metadata = (!metadata.is_empty()).then_some(metadata);
        let bytes =
            safetensors::serialize(views, metadata).map_err(|e| damaged(path, e.to_string()))?;
        Ok(files::write_atomically(path, &bytes)?)
    }

    /// A tensor by name.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTensor`].
    pub fn get(&self, name: &str) -> Result<&Tensor> {
        let known = self.tensors.keys().map(String::as_str);
        let found = self.tensors.get(name);
        found.ok_or_else(|| RuntimeError::unknown(name, known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_is_read_without_the_tensors() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("some.safetensors");
        let mut file = TensorFile::default();
        assert!(TensorFile::read_metadata(&path).is_err());
        file.write(&path).expect("written");
        assert_eq!(TensorFile::read_metadata(&path).ok(), Some(BTreeMap::new()));
        for (name, size) in [("b", 5), ("a", 3)] {
            let tensor = Tensor::f32([size], vec![f32::NAN; size]);
            file.tensors.insert(name.to_string(), tensor);
        }
        file.metadata.insert("by".to_string(), "τ".to_string());
        file.write(&path).expect("written");
        assert_eq!(
            TensorFile::read_metadata(&path).ok(),
            Some(file.metadata.clone())
        );
        // A file that ends anywhere else is damaged.
        let bytes = files::read(&path).expect("written");
        for end in [0, 3, 8, 20, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..end]).expect("written");
            let error = TensorFile::read_metadata(&path).expect_err("damaged");
            assert!(error.to_string().contains("not a tensor file"), "{error}");
        }
        std::fs::write(&path, [0xff; 64]).expect("written");
        assert!(TensorFile::read_metadata(&path).is_err());
        assert!(TensorFile::read_metadata(folder.path()).is_err());
    }
}
