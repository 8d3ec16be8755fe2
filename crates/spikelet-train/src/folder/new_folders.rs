//! Folders that are created for a run, and removed if it does not start.

use spikelet_core::files::{self, FileError};
use std::io;
use std::path::{Path, PathBuf};

/// Folders that were created, each after its parents. Empty ones are removed when
/// this is dropped.
#[derive(Debug, Default)]
pub(super) struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes a folder and its missing parents; one that is already there is fine.
    pub(super) fn make(&mut self, path: &Path) -> Result<(), FileError> {
        let parents = path.ancestors().take_while(|parent| !parent.exists());
        let missing: Vec<&Path> = parents.collect();
        for folder in missing.into_iter().rev() {
            // One that cannot be created is an error below; one that another process has just created is
            // not this one's.
            let _ = self.make_new(folder);
        }
        files::create_folder(path)
    }

    /// Makes a folder that is not there yet.
    pub(super) fn make_new(&mut self, path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)?;
        self.0.push(path.to_path_buf());
        Ok(())
    }

    /// Whether this folder was created.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.iter().any(|made| made == path)
    }

    /// Keeps them all.
    pub(super) fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // One that holds anything is not removed by this.
            let _ = std::fs::remove_dir(folder);
        }
    }
}
