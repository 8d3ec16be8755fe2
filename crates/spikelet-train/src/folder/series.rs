//! The folder of a series of runs, such as one for each of several seeds.

use super::lock::lock_file;
use super::new_folders::NewFolders;
use super::{RunFolderError, create_numbered, holds_run, link_latest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use spikelet_core::files::{self, FileError};
use spikelet_core::{Error, Result};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The description of a series.
const SERIES: &str = "series.json";

/// The locked file. It has another name than that of a run, because the folder of a series is not a run.
const LOCK: &str = ".series.lock";

/// The folder of a series of runs, locked by this process. Each run has a folder in it, and its own lock.
///
/// ```
/// use spikelet_train::run::SeriesFolder;
/// # let runs = tempfile::tempdir()?;
/// let mut series = SeriesFolder::create_in(runs.path())?;
/// series.write(&["seed-0", "seed-1"])?;
/// series.keep();
/// let path = series.path().to_path_buf();
/// drop(series);
/// let names: Vec<String> = SeriesFolder::resume(&path)?.read()?;
/// assert_eq!(names, ["seed-0", "seed-1"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SeriesFolder {
    path: PathBuf,
    /// Folders created for this series, until it starts.
    made: NewFolders,
    _lock: File,
    numbered: bool,
}

impl SeriesFolder {
    /// Whether there is a series in a folder.
    pub fn is_at(folder: impl AsRef<Path>) -> bool {
        folder.as_ref().join(SERIES).is_file()
    }

    /// A new folder in this one, which is named by the date and a number, such as `2026-11-22-001`.
    ///
    /// # Errors
    /// When the folder cannot be created or written.
    pub fn create_in(parent: impl AsRef<Path>) -> Result<Self> {
        let mut made = NewFolders::default();
        let path = create_numbered(parent.as_ref(), &mut made)?;
        Self::locked(path, made, true)
    }

    /// This folder, which is created if it does not exist.
    ///
    /// # Errors
    /// [`RunFolderError`] when the folder has a run or a series, or is in use; when it cannot be created or written.
    pub fn create(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        if holds_run(&folder) {
            return Err(RunFolderError::HoldsRun { folder }.into());
        }
        let mut made = NewFolders::default();
        made.make(&folder)?;
        let series = Self::locked(folder, made, false)?;
        if Self::is_at(&series.path) {
            let folder = series.path.clone();
            return Err(RunFolderError::HoldsSeries { folder }.into());
        }
        Ok(series)
    }

    /// The folder of a series, to resume it.
    ///
    /// # Errors
    /// [`RunFolderError`] when the folder has no series, or is in use.
    pub fn resume(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        if !Self::is_at(&folder) {
            return Err(RunFolderError::NoSeries { folder }.into());
        }
        Self::locked(folder, NewFolders::default(), false)
    }

    fn locked(path: PathBuf, mut made: NewFolders, numbered: bool) -> Result<Self> {
        let lock = loop {
            made.make(&path)?;
            if let Some(lock) = lock_file(&path, LOCK)? {
                break lock;
            }
        };
        files::remove_leftovers(&path)?;
        Ok(Self {
            path,
            made,
            _lock: lock,
            numbered,
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder and makes it the latest in its parent folder, if it was created by
    /// [`SeriesFolder::create_in`]. A folder that was created and is not kept is removed if it is empty.
    pub fn keep(&mut self) {
        if self.numbered {
            link_latest(&self.path);
        }
        self.made.keep();
    }

    /// Writes the description of the series: all of it, or nothing if the process is killed.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, description: &impl Serialize) -> Result<()> {
        let path = self.path.join(SERIES);
        let text = serde_json::to_string_pretty(description);
        let text = text.map_err(|error| Error::other(DescriptionError(error)))?;
        files::write_atomically(path, text.as_bytes())?;
        Ok(())
    }

    /// Reads the description of the series.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let path = self.path.join(SERIES);
        let bytes = files::read(&path)?;
        let read = serde_json::from_slice(&bytes).map_err(|error| FileError::Damaged {
            path,
            problem: error.to_string(),
            help: "start a new series; the runs in the folder are unchanged",
        })?;
        Ok(read)
    }
}

impl Drop for SeriesFolder {
    fn drop(&mut self) {
        // A series that did not start removes the folders that were created for it.
        if self.made.has(&self.path) {
            let _ = files::remove(&self.path.join(LOCK));
        }
    }
}

/// A description that cannot be written as JSON.
#[derive(Debug, thiserror::Error)]
#[error("the description of the series is no JSON: {0}")]
struct DescriptionError(serde_json::Error);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::latest_run;

    fn refused(result: Result<SeriesFolder>) -> RunFolderError {
        match result {
            Err(error) => error.downcast().expect("a folder's"),
            Ok(series) => panic!("{series:?}"),
        }
    }

    #[test]
    fn a_series_that_is_not_kept_leaves_nothing_and_a_kept_one_is_the_latest() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path().join("runs/mnist-fc");
        drop(SeriesFolder::create_in(&runs)?);
        assert!(!folder.path().join("runs").exists());
        let mut series = SeriesFolder::create_in(&runs)?;
        series.write(&1)?;
        series.keep();
        assert_eq!(latest_run(&runs)?, series.path());
        Ok(())
    }

    #[test]
    fn a_folder_has_one_series_of_one_process() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let error = refused(SeriesFolder::resume(&path));
        assert!(matches!(error, RunFolderError::NoSeries { .. }), "{error}");
        let mut series = SeriesFolder::create(&path)?;
        series.write(&1)?;
        series.keep();
        for second in [SeriesFolder::resume(&path), SeriesFolder::create(&path)] {
            let error = refused(second);
            assert!(matches!(error, RunFolderError::InUse { .. }), "{error}");
        }
        drop(series);
        let error = refused(SeriesFolder::create(&path));
        assert!(
            matches!(error, RunFolderError::HoldsSeries { .. }),
            "{error}"
        );
        assert_eq!(SeriesFolder::resume(&path)?.read::<usize>()?, 1);
        std::fs::write(path.join(SERIES), "{").expect("written");
        let error = SeriesFolder::resume(&path)?
            .read::<usize>()
            .expect_err("damaged");
        assert!(
            error.to_string().contains("series.json is damaged"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn a_folder_with_a_run_has_no_series_and_the_reverse() -> Result<()> {
        use crate::folder::{Former, RunFolder, RunLocation};
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("run");
        std::fs::create_dir(&run).expect("a folder");
        std::fs::write(run.join("last.safetensors"), "").expect("written");
        let error = refused(SeriesFolder::create(&run));
        assert!(matches!(error, RunFolderError::HoldsRun { .. }), "{error}");
        let path = folder.path().join("series");
        let mut series = SeriesFolder::create(&path)?;
        series.write(&1)?;
        series.keep();
        let opened = RunFolder::open(&RunLocation::At(path), &Former::Replace);
        let error = opened.expect_err("it has a series").to_string();
        assert!(error.contains("holds a series of runs"), "{error}");
        Ok(())
    }
}
