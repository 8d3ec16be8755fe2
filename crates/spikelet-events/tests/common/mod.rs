//! Manifests and tensors of the fixtures.

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use spikelet_events::{EventBuffer, Sensor};

/// A file of the fixtures.
pub fn fixture(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(file)
}

/// The items of a manifest.
pub fn items(kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(fixture(kind).join("MANIFEST.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    manifest["items"].as_array().expect("items").clone()
}

/// A file of tensors.
pub struct Tensors(Vec<u8>);

impl Tensors {
    pub fn read(file: &str) -> Self {
        Self(fs::read(fixture(file)).expect("a file of tensors"))
    }

    /// The values of a tensor, if the file has it.
    pub fn values(&self, name: &str) -> Option<Vec<f64>> {
        let file = SafeTensors::deserialize(&self.0).expect("safetensors");
        let tensor = file.tensor(name).ok()?;
        macro_rules! values {
            ($type:ty) => {{
                let size = std::mem::size_of::<$type>();
                let value = |bytes: &[u8]| <$type>::from_le_bytes(bytes.try_into().expect("bytes"));
                tensor
                    .data()
                    .chunks_exact(size)
                    .map(|bytes| value(bytes) as f64)
                    .collect()
            }};
        }
        Some(match tensor.dtype() {
            Dtype::F64 => values!(f64),
            Dtype::F32 => values!(f32),
            Dtype::I64 => values!(i64),
            Dtype::I32 => values!(i32),
            Dtype::U32 => values!(u32),
            Dtype::I16 => values!(i16),
            Dtype::U16 => values!(u16),
            Dtype::U8 | Dtype::BOOL => values!(u8),
            other => panic!("{other:?}"),
        })
    }

    /// Events, whose columns begin with a prefix.
    pub fn events(&self, prefix: &str) -> EventBuffer {
        let column = |name: &str| self.values(&format!("{prefix}{name}")).expect("a column");
        EventBuffer {
            t: column("t").into_iter().map(|t| t as i64).collect(),
            x: column("x").into_iter().map(|x| x as u16).collect(),
            y: column("y").into_iter().map(|y| y as u16).collect(),
            p: column("p").into_iter().map(|p| p as u8).collect(),
        }
    }
}

/// The events of an item.
pub fn events(item: &Value) -> EventBuffer {
    Tensors::read(item["events"].as_str().expect("a file")).events("")
}

/// The sensor of an item.
pub fn sensor(item: &Value) -> Sensor {
    let size = |k: usize| item["sensor"][k].as_u64().expect("a size") as u32;
    Sensor::new(size(0), size(1))
}
