//! Folders that are created for a run, and removed if it does not start.

use spikelet_core::files::{self, FileError};
use std::io;
use std::path::{Path, PathBuf};

/// Created folders, each after its parents. Empty ones are removed on drop.
#[derive(Debug, Default)]
pub(super) struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Creates a folder and its missing parents, unless it exists.
    pub(super) fn make(&mut self, path: &Path) -> Result<(), FileError> {
        let parents = path.ancestors().take_while(|parent| !parent.exists());
        let missing: Vec<&Path> = parents.collect();
        for folder in missing.into_iter().rev() {
            // If it cannot be created, that is an error below; another process may have just created it.
            let _ = self.make_new(folder);
        }
        files::create_folder(path)
    }

    /// Creates a folder that does not exist.
    pub(super) fn make_new(&mut self, path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)?;
        self.0.push(path.to_path_buf());
        Ok(())
    }

    /// Whether this folder was created.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|made| made == path)
    }

    /// Keeps all folders.
    pub(super) fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Folders with contents are not removed by this.
            let _ = std::fs::remove_dir(folder);
        }
    }
}
