//! The results of an item: tensors or JSON, and the text of an error.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use serde_json::Value;
use spikelet::files::write_atomically;
use spikelet_events::EventBuffer;
use std::path::Path;

/// A tensor of a result.
struct Tensor {
    name: &'static str,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// The result of an item.
#[derive(Default)]
pub struct Output {
    tensors: Vec<Tensor>,
    json: Option<Value>,
    error: Option<String>,
}

impl Output {
    /// An error and nothing else.
    pub fn error(text: impl ToString) -> Self {
        Self::default().with_error(Some(text.to_string()))
    }

    /// JSON in place of tensors.
    pub fn json(json: Value) -> Self {
        Self {
            json: Some(json),
            ..Self::default()
        }
    }

    /// The columns of events.
    pub fn events(events: &EventBuffer) -> Self {
        Self::default()
            .i64("t", &events.t)
            .u16("x", &events.x)
            .u16("y", &events.y)
            .tensor("p", Dtype::U8, vec![events.p.len()], events.p.clone())
    }

    pub fn with_error(mut self, error: Option<String>) -> Self {
        self.error = error;
        self
    }

    pub fn i64(self, name: &'static str, values: &[i64]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, Dtype::I64, vec![values.len()], bytes)
    }

    /// The first and the last event of slices, `[slices, 2]`.
    pub fn pairs(self, name: &'static str, pairs: &[[i64; 2]]) -> Self {
        let values = pairs.as_flattened().iter();
        let bytes = values.flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, Dtype::I64, vec![pairs.len(), 2], bytes)
    }

    pub fn u16(self, name: &'static str, values: &[u16]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, Dtype::U16, vec![values.len()], bytes)
    }

    pub fn f32(self, name: &'static str, shape: Vec<usize>, values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, Dtype::F32, shape, bytes)
    }

    fn tensor(
        mut self,
        name: &'static str,
        dtype: Dtype,
        shape: Vec<usize>,
        bytes: Vec<u8>,
    ) -> Self {
        self.tensors.push(Tensor {
            name,
            dtype,
            shape,
            bytes,
        });
        self
    }

    /// Whether there is an error.
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }

    /// Writes `folder/id.safetensors`, `.json` and `.error`, those that there are.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path, id: &str) -> spikelet::Result<()> {
        let path = |extension: &str| folder.join(format!("{id}.{extension}"));
        if !self.tensors.is_empty() {
            let views = self.tensors.iter().map(|t| {
                let view = TensorView::new(t.dtype, t.shape.clone(), &t.bytes);
                Ok((t.name, view.map_err(spikelet::Error::other)?))
            });
            let views = views.collect::<spikelet::Result<Vec<_>>>()?;
            let bytes = serialize(views, None).map_err(spikelet::Error::other)?;
            write_atomically(path("safetensors"), &bytes)?;
        }
        if let Some(json) = &self.json {
            write_atomically(path("json"), json.to_string().as_bytes())?;
        }
        if let Some(error) = &self.error {
            write_atomically(path("error"), format!("{error}\n").as_bytes())?;
        }
        Ok(())
    }
}
