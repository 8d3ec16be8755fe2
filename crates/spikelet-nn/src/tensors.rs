//! Tensor files: safetensors, written atomically.

use crate::RuntimeError;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use spikelet_core::files;
use spikelet_core::{Error, Result};
use spikelet_graph::{Data, Tensor, bf16, f16};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Named tensors with text metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorFile {
    /// The tensors by name.
    pub tensors: BTreeMap<String, Tensor>,
    /// The file's metadata.
    pub metadata: BTreeMap<String, String>,
}

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
