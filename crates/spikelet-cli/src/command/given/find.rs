//! The files of the inputs.

use crate::failure::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// The endings of the files that are taken from folders.
const ENDINGS: [&str; 4] = ["png", "jpg", "jpeg", "npy"];

/// How deep folders are searched.
const MAX_DEPTH: usize = 16;

/// The given files, and in place of each folder the files in it and below it of which `is_taken`, sorted by path; `what` is
/// the name of these in messages.
///
/// # Errors
/// When an input does not exist, or a folder cannot be read or has no such files.
pub fn find(
    inputs: &[PathBuf],
    what: &str,
    is_taken: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, Failure> {
    let mut files = vec![];
    for input in inputs {
        let about = |problem: String| {
            let help = format!("name {what}, or folders of them");
            Failure::other(format!("{}: {problem}", input.display()), help)
        };
        let metadata = fs::metadata(input).map_err(|error| about(error.to_string()))?;
        if !metadata.is_dir() {
            files.push(input.clone());
            continue;
        }
        let before = files.len();
        collect(input, MAX_DEPTH, &is_taken, &mut files)
            .map_err(|(folder, error)| about(format!("{}: {error}", folder.display())))?;
        if files.len() == before {
            return Err(about(format!("no {what} in this folder")));
        }
    }
    Ok(files)
}

/// Whether a file is taken from a folder.
pub fn has_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        ENDINGS
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

fn collect(
    folder: &Path,
    depth: usize,
    is_taken: &dyn Fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), (PathBuf, std::io::Error)> {
    let failed = |error| (folder.to_path_buf(), error);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    paths.sort_unstable();
    for path in paths {
        // Hidden files belong to tools.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if depth > 0 {
                collect(&path, depth - 1, is_taken, files)?;
            }
        } else if is_taken(&path) {
            files.push(path);
        }
    }
    Ok(())
}
