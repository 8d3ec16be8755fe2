//! Folders with versions in their names.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// The folders in `folder` whose names start with `prefix`, by version, the newest first, then by name.
pub(super) fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(read) = folder.read_dir() else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = read
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(prefix) && path.is_dir()
        })
        .collect();
    found.sort_by_key(|path| (Reverse(version_in(path)), path.clone()));
    found
}

/// The numbers in a folder's name: `[13, 0]` of `cuda-13.0`.
pub(super) fn version_in(folder: &Path) -> Vec<u32> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}
