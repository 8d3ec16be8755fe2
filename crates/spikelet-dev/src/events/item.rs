//! An item of a manifest.

use safetensors::SafeTensors;
use serde_json::Value;
use spikelet_events::{EventBuffer, Sensor};
use std::path::{Path, PathBuf};

/// An item, and the folder that its paths are relative to.
pub struct Item {
    pub id: String,
    fields: Value,
    folder: PathBuf,
}

impl Item {
    /// An item with its own id, or that of its file.
    ///
    /// # Errors
    /// When there is neither.
    pub fn new(fields: &Value, folder: &Path) -> Result<Self, String> {
        let file = || Path::new(fields["file"].as_str()?).file_name()?.to_str();
        let id = fields["id"].as_str().or_else(file);
        let id = id.ok_or_else(|| format!("an item has neither `id` nor `file`: {fields}"))?;
        if id.is_empty() || id.contains(['/', '\\']) || id.starts_with('.') {
            return Err(format!("the id `{id}` cannot be the name of a file"));
        }
        Ok(Self {
            id: id.to_string(),
            fields: fields.clone(),
            folder: folder.to_path_buf(),
        })
    }

    /// An item that is a name alone.
    pub fn named(name: &str, folder: &Path) -> Self {
        Self {
            id: name.to_string(),
            fields: Value::Null,
            folder: folder.to_path_buf(),
        }
    }

    /// A path below the folder of the manifest's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A field that is text.
    ///
    /// # Errors
    /// When it is missing.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        let found = self.fields[name].as_str();
        found.ok_or_else(|| format!("the item has no text `{name}`"))
    }

    /// The option of this name.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.fields["options"][name].as_str()
    }

    /// The arguments of the function.
    pub fn args(&self) -> &Value {
        &self.fields["args"]
    }

    /// An argument that is a whole number.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.args()[name].as_u64()
    }

    /// An argument that is a number.
    pub fn float(&self, name: &str) -> Option<f64> {
        self.args()[name].as_f64()
    }

    /// The width and the height of the sensor.
    pub fn sensor(&self) -> Option<Sensor> {
        let size = |k: usize| u32::try_from(self.fields["sensor"][k].as_u64()?).ok();
        Some(Sensor::new(size(0)?, size(1)?))
    }

    /// The number of polarities; two unless the sensor has a third size.
    pub fn polarities(&self) -> u64 {
        self.fields["sensor"][2].as_u64().unwrap_or(2)
    }

    /// The columns of the item's events.
    ///
    /// # Errors
    /// When the file is missing or no safetensors file.
    pub fn columns(&self) -> Result<Columns, String> {
        let path = self.path(self.text("events")?);
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        SafeTensors::deserialize(&bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Columns { bytes, path })
    }

    /// The item's events.
    ///
    /// # Errors
    /// Those of [`Item::columns`], and when a column is missing or of another type.
    pub fn events(&self) -> Result<EventBuffer, String> {
        let columns = self.columns()?;
        Ok(EventBuffer {
            t: columns.get("t", i64::from_le_bytes)?,
            x: columns.get("x", u16::from_le_bytes)?,
            y: columns.get("y", u16::from_le_bytes)?,
            p: columns.get("p", u8::from_le_bytes)?,
        })
    }
}

/// A safetensors file of columns.
pub struct Columns {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl Columns {
    /// The values of a column, whose bytes `value` reads.
    ///
    /// # Errors
    /// When it is missing, or has no elements of this size.
    pub fn get<T, const BYTES: usize>(
        &self,
        name: &str,
        value: impl Fn([u8; BYTES]) -> T,
    ) -> Result<Vec<T>, String> {
        let path = self.path.display();
        let file = SafeTensors::deserialize(&self.bytes).map_err(|e| format!("{path}: {e}"))?;
        let column = file
            .tensor(name)
            .map_err(|e| format!("{path}: {name}: {e}"))?;
        let (values, rest) = column.data().as_chunks::<BYTES>();
        let elements: usize = column.shape().iter().product();
        if !rest.is_empty() || values.len() != elements {
            let found = column.dtype();
            return Err(format!(
                "{path}: {name} is {found:?}, not of {BYTES} bytes an element"
            ));
        }
        Ok(values.iter().map(|bytes| value(*bytes)).collect())
    }
}
