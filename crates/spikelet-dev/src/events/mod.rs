//! Reference items of event files: what is read, framed or transformed for each item of a manifest.

mod formats;
mod frames;
mod item;
mod output;
mod sets;
mod transforms;

pub use item::Item;
pub use output::Output;

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The kind of the items of a manifest; the name of its folder says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Formats,
    Corrupt,
    Frames,
    Transforms,
    Datasets,
}

impl Kind {
    /// The names of the folders.
    pub const NAMES: &str = "formats, corrupt, frames, transforms, datasets";

    /// The kind of a manifest.
    pub fn of(manifest: &Path) -> Option<Self> {
        Some(match manifest.parent()?.file_name()?.to_str()? {
            "formats" => Self::Formats,
            "corrupt" => Self::Corrupt,
            "frames" => Self::Frames,
            "transforms" => Self::Transforms,
            "datasets" => Self::Datasets,
            _ => return None,
        })
    }

    /// The items of a manifest whose files lie in `folder`.
    ///
    /// # Errors
    /// A text that says what the manifest lacks.
    pub fn items(self, manifest: &Value, folder: PathBuf) -> Result<Vec<Item>, String> {
        if self == Self::Datasets {
            let sets = manifest.as_object().ok_or("the manifest is no object")?;
            let names = sets.keys().filter(|name| !name.starts_with('_'));
            return Ok(names.map(|name| Item::named(name, &folder)).collect());
        }
        let items = manifest["items"].as_array();
        let items = items.ok_or("the manifest has no array `items`")?;
        items.iter().map(|item| Item::new(item, &folder)).collect()
    }

    /// Computes an item.
    pub fn run(self, item: &Item) -> Output {
        let found = match self {
            Self::Formats | Self::Corrupt => formats::run(item),
            Self::Frames => frames::run(item),
            Self::Transforms => transforms::run(item),
            Self::Datasets => sets::run(item),
        };
        found.unwrap_or_else(Output::error)
    }
}
