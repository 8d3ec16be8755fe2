//! The errors of folders of runs.

use std::path::PathBuf;

/// A folder that cannot be used for a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFolderError {
    /// Another run is writing to the folder.
    #[error(
        "{} is in use by another run{}\n  help: wait for its end, or give another folder",
        .folder.display(), .pid.map(|pid| format!(", process {pid}")).unwrap_or_default()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The id of its process, if it is known.
        pid: Option<u32>,
    },
    /// The folder has a run, which a new one would replace.
    #[error(
        "{} holds a run\n  help: give another folder, continue that run (--resume), or replace it (--force)",
        .folder.display()
    )]
    HoldsRun {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder has a series of runs, which a run or another series would be mixed with.
    #[error(
        "{} holds a series of runs\n  help: give another folder, or continue that series (--resume)",
        .folder.display()
    )]
    HoldsSeries {
        /// The folder.
        folder: PathBuf,
    },
    /// There is no series to resume.
    #[error(
        "nothing to resume: there is no series of runs in {}\n  help: name the folder with the file series.json, or start a series without --resume",
        .folder.display()
    )]
    NoSeries {
        /// The folder.
        folder: PathBuf,
    },
    /// There is no checkpoint to resume from.
    #[error(
        "nothing to resume: there is no checkpoint {}\n  help: {help}",
        .checkpoint.display()
    )]
    NothingToResume {
        /// The missing checkpoint.
        checkpoint: PathBuf,
        /// The remedy.
        help: &'static str,
    },
    /// A checkpoint is needed, and a folder has none.
    #[error(
        "there is no checkpoint in the folder {}\n  help: name a checkpoint, or the folder of a run of `spikelet train`",
        .folder.display()
    )]
    NoCheckpoint {
        /// The folder.
        folder: PathBuf,
    },
    /// A checkpoint is needed, and a folder has a series of runs.
    #[error(
        "{} holds a series of runs\n  help: name one of its runs, such as the best one in the table of `spikelet runs`",
        .folder.display()
    )]
    IsSeries {
        /// The folder.
        folder: PathBuf,
    },
    /// There are no runs.
    #[error(
        "there is no run in {}\n  help: start one with `spikelet train`, without --resume, or name the folder of a run",
        .parent.display()
    )]
    NoRuns {
        /// The folder of runs.
        parent: PathBuf,
    },
}

impl spikelet_core::OtherError for RunFolderError {}
