//! The folder of the reference cases.

use std::path::{Path, PathBuf};

/// A reference case by its file name; the folder of all of them for an empty name.
///
/// A test binary that was copied to another machine finds them in `tests/golden` of the folder
/// that it runs in, one that cargo started in the repository.
pub fn golden(name: &str) -> PathBuf {
    let here = Path::new("tests/golden");
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join(here);
    let folder = if here.is_dir() { here } else { &built };
    folder.join(name)
}
