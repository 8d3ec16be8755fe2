//! The folders of runs: their names and their locks.
//!
//! A folder belongs to one process at a time, which has a lock on a file in it. The system releases the lock when
//! the process ends.

mod error;
mod lock;
mod new_folders;
mod series;

pub(super) use lock::{LOCK, holder};

pub use error::RunFolderError;
use lock::lock;
use new_folders::NewFolders;
pub use series::SeriesFolder;
use spikelet_core::files::{self, FileError};
use spikelet_core::{Error, Result};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The checkpoint for resuming.
pub(super) const LAST: &str = "last.safetensors";
/// The checkpoint of the best epoch.
pub(super) const BEST: &str = "best.safetensors";
/// The weights of the folder of a model, and its configuration.
pub(super) const MODEL: &str = "model.safetensors";
pub(super) const CONFIG: &str = "config.json";
/// The log of the epochs.
pub(super) const EPOCHS: &str = "epochs.jsonl";
/// The log of the measurements from which the health of a run is diagnosed.
pub(super) const HEALTH: &str = "health.jsonl";
/// The folder of the TensorBoard curves.
pub(super) const CURVES: &str = "tensorboard";
/// The experiment.
pub(super) const EXPERIMENT: &str = "experiment.toml";
/// The report as a picture.
pub(super) const REPORT: &str = "report.svg";
/// The report as a page.
pub(super) const REPORT_PAGE: &str = "report.html";
/// The command that repeats the run.
pub(super) const COMMAND: &str = "command.txt";

/// The link to the latest run.
const LATEST: &str = "latest";

/// The folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunLocation {
    /// In this folder.
    At(PathBuf),
    /// In a new folder in this one.
    NewIn(PathBuf),
}

/// How a folder with a run in it is handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Former {
    /// It is unchanged; the folder is an error.
    Refuse,
    /// It is replaced.
    Replace,
    /// It is resumed from its last checkpoint.
    Resume,
    /// It is resumed from this checkpoint.
    ResumeFrom(PathBuf),
}

/// The folder of a run, locked by this process.
#[derive(Debug)]
pub(super) struct RunFolder {
    path: PathBuf,
    /// Folders created for this run, until it starts. Removed before the lock is released.
    made: NewFolders,
    _lock: File,
    numbered: bool,
}

impl RunFolder {
    /// Creates the folder if needed, locks it for this process, and removes temporary files of killed processes.
    /// Nothing else is changed.
    ///
    /// # Errors
    /// [`RunFolderError`]; when the folder cannot be created or written.
    pub(super) fn open(place: &RunLocation, former: &Former) -> Result<Self> {
        let mut made = NewFolders::default();
        let (path, numbered) = match place {
            RunLocation::At(path) => (path.clone(), false),
            RunLocation::NewIn(parent) => (create_numbered(parent, &mut made)?, true),
        };
        if let Some(from) = checkpoint_of(&path, former)
            && !from.exists()
        {
            return Err(nothing_to_resume(from).into());
        }
        let lock = loop {
            made.make(&path)?;
            if let Some(lock) = lock(&path)? {
                break lock;
            }
        };
        let folder = Self {
            _lock: lock,
            made,
            path,
            numbered,
        };
        if SeriesFolder::is_at(&folder.path) {
            let folder = folder.path.clone();
            return Err(RunFolderError::HoldsSeries { folder }.into());
        }
        if *former == Former::Refuse && holds_run(&folder.path) {
            let folder = folder.path.clone();
            return Err(RunFolderError::HoldsRun { folder }.into());
        }
        files::remove_leftovers(&folder.path)?;
        let curves = folder.path.join(CURVES);
        if curves.is_dir() {
            files::remove_leftovers(&curves)?;
        }
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Marks the beginning of the run: a numbered folder becomes the latest. Checkpoints and logs of an older run
    /// are removed first, so that files of two runs are never mixed.
    pub(super) fn begin(&mut self, resumes: bool) -> Result<()> {
        if !resumes {
            for name in [LAST, BEST, REPORT, REPORT_PAGE, COMMAND, HEALTH, EXPERIMENT] {
                files::remove(&self.path.join(name))?;
            }
        }
        self.made.keep();
        if self.numbered {
            link_latest(&self.path);
        }
        Ok(())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // A run that could not start removes the folders that were created for it.
        if self.made.has(&self.path) {
            let _ = files::remove(&self.path.join(LOCK));
        }
    }
}

/// Whether a run has written into a folder.
fn holds_run(folder: &Path) -> bool {
    let epochs = folder.join(EPOCHS).metadata();
    let files = [LAST, BEST, REPORT];
    files.iter().any(|name| folder.join(name).exists()) || epochs.is_ok_and(|found| found.len() > 0)
}

/// The checkpoint to resume from, if any.
pub(super) fn checkpoint_of(folder: &Path, former: &Former) -> Option<PathBuf> {
    match former {
        Former::Refuse | Former::Replace => None,
        Former::Resume => Some(folder.join(LAST)),
        Former::ResumeFrom(checkpoint) => Some(checkpoint.clone()),
    }
}

/// The checkpoint that a path names, wherever one is taken: a file itself; of the folder of a run its `best.safetensors`, or
/// else its `last.safetensors`; of the folder of a model its `model.safetensors`; of a folder of runs that of the latest. A
/// model of the Hugging Face Hub, `hf://owner/name`, is downloaded (`spikelet_data::download::Hub`). Other paths are as
/// they were given.
///
/// ```no_run
/// let file = spikelet_train::run::checkpoint_file("runs/mnist-fc")?;
/// assert!(file.ends_with("best.safetensors"));
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// [`RunFolderError::NoCheckpoint`] for a folder without one; for an address, the error of the download, or of a program that
/// was built without the feature `download`.
pub fn checkpoint_file(path: impl AsRef<Path>) -> Result<PathBuf> {
    let path = path.as_ref();
    if let Some(address) = path.to_str().filter(|text| text.starts_with("hf://")) {
        return of_hub(address);
    }
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let in_folder = |folder: &Path| {
        let mut files = [BEST, LAST, MODEL]
            .into_iter()
            .map(|name| folder.join(name));
        files.find(|file| file.is_file())
    };
    let found = in_folder(path).or_else(|| in_folder(&latest_run(path).ok()?));
    found.ok_or_else(|| {
        let folder = path.to_path_buf();
        match SeriesFolder::is_at(path) {
            true => RunFolderError::IsSeries { folder }.into(),
            false => RunFolderError::NoCheckpoint { folder }.into(),
        }
    })
}

#[cfg(feature = "download")]
fn of_hub(address: &str) -> Result<PathBuf> {
    use spikelet_data::download::Hub;
    Hub::default().file(address).map_err(Error::other)
}

#[cfg(not(feature = "download"))]
fn of_hub(address: &str) -> Result<PathBuf> {
    Err(Error::invalid(
        "checkpoint",
        format!("`{address}` is a model of a server, and this program was built without downloads"),
        "build it with the feature `download` of the crate spikelet, or name a file",
    ))
}

pub(super) fn nothing_to_resume(checkpoint: PathBuf) -> RunFolderError {
    let help = match checkpoint.with_file_name(EPOCHS).exists() {
        true => {
            "the run ended before its first checkpoint: start it anew, with --force if into this folder"
        }
        false => "name a run's folder or a checkpoint in it, or start without --resume",
    };
    RunFolderError::NothingToResume { checkpoint, help }
}

/// Creates a folder that is named by the date and the next number of the day, such as
/// `2026-11-22-001`.
fn create_numbered(parent: &Path, made: &mut NewFolders) -> Result<PathBuf> {
    made.make(parent)?;
    let day = date(SystemTime::now());
    let number = |name: String| name.strip_prefix(&format!("{day}-"))?.parse::<u32>().ok();
    let used = names(parent)?.into_iter().filter_map(number).max();
    let mut next = used.map_or(1, |used| used.saturating_add(1));
    loop {
        let path = parent.join(format!("{day}-{next:03}"));
        match made.make_new(&path) {
            Ok(()) => return Ok(path),
            // Another run has just used the number.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => next += 1,
            // A run that could not start has just removed the folder that it had created.
            Err(error) if error.kind() == ErrorKind::NotFound => made.make(parent)?,
            Err(error) => return Err(FileError::io("create the folder", &path)(error).into()),
        }
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let io = || FileError::io("read the folder", folder);
    let mut names = vec![];
    for entry in std::fs::read_dir(folder).map_err(io())? {
        let name = entry.map_err(io())?.file_name();
        names.extend(name.into_string());
    }
    Ok(names)
}

/// The latest run in a folder: the target of the link `latest`, or without such a link the run with the last
/// name.
///
/// # Errors
/// [`RunFolderError::NoRuns`].
pub fn latest_run(parent: impl AsRef<Path>) -> Result<PathBuf> {
    let parent = parent.as_ref();
    let link = parent.join(LATEST);
    if let Ok(name) = link.read_link()
        && parent.join(&name).is_dir()
    {
        return Ok(parent.join(name));
    }
    let runs = match parent.is_dir() {
        true => names(parent)?,
        false => vec![],
    };
    let runs = runs.into_iter().filter(|name| {
        let dated = name.bytes().zip("0000-00-00-".bytes());
        name.len() > 11 && dated.fold(true, |all, (a, b)| all && is_like(a, b))
    });
    match runs.max() {
        Some(name) => Ok(parent.join(name)),
        None => Err(RunFolderError::NoRuns {
            parent: parent.to_path_buf(),
        }
        .into()),
    }
}

/// Whether a byte matches a byte of the pattern, where a digit matches any digit.
fn is_like(byte: u8, pattern: u8) -> bool {
    match pattern {
        b'0' => byte.is_ascii_digit(),
        _ => byte == pattern,
    }
}

/// Sets the link `latest` next to the folder of a run. On file systems without links, the run with the last name
/// is the latest.
#[cfg(unix)]
fn link_latest(run: &Path) {
    let (Some(parent), Some(name)) = (run.parent(), run.file_name()) else {
        return;
    };
    let link = parent.join(LATEST);
    if link.exists() && !link.is_symlink() {
        return;
    }
    // Created under another name and renamed, so that the link always exists.
    let new = parent.join(format!(".{LATEST}.{}", std::process::id()));
    let made = std::os::unix::fs::symlink(name, &new);
    if made.and_then(|()| std::fs::rename(&new, &link)).is_err() {
        let _ = std::fs::remove_file(&new);
    }
}

#[cfg(not(unix))]
fn link_latest(_run: &Path) {}

/// A day in UTC, such as `2026-11-22`.
fn date(time: SystemTime) -> String {
    let days = time.duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs()) / 86_400;
    // Howard Hinnant, "chrono-compatible low-level date algorithms": years begin in March, so that
    // the day that leap years add is a year's last.
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month < 10 {
        true => (era * 400 + year, month + 3),
        false => (era * 400 + year + 1, month - 9),
    };
    format!("{year:04}-{month:02}-{day:02}")
}

/// The lock on a folder, for tests.
#[cfg(test)]
pub(super) fn test_lock(folder: &Path) -> File {
    lock(folder).ok().flatten().expect("a lock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn refused(result: Result<RunFolder>) -> RunFolderError {
        match result {
            Err(error) => error.downcast().expect("a run folder's"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn days_are_dates() {
        let of_day = |days: u64| date(UNIX_EPOCH + Duration::from_secs(days * 86_400 + 5));
        let cases = [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_779, "2026-11-22"),
            (20_818, "2026-12-31"),
            (20_819, "2027-01-01"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ];
        for (days, expected) in cases {
            assert_eq!(of_day(days), expected);
        }
    }

    #[test]
    fn each_run_gets_a_folder_and_the_last_that_began_is_the_latest() -> Result<()> {
        let runs = tempfile::tempdir().expect("a folder");
        let parent = runs.path().join("mnist-fc");
        let place = RunLocation::NewIn(parent.clone());
        assert!(matches!(
            latest_run(&parent),
            Err(error) if matches!(error.downcast_ref(), Some(RunFolderError::NoRuns { .. }))
        ));
        let mut first = RunFolder::open(&place, &Former::Refuse)?;
        let mut second = RunFolder::open(&place, &Former::Refuse)?;
        assert!(first.path().to_string_lossy().ends_with("-001"));
        assert!(second.path().to_string_lossy().ends_with("-002"));
        second.begin(false)?;
        assert_eq!(latest_run(&parent)?, second.path());
        first.begin(false)?;
        assert_eq!(latest_run(&parent)?, first.path());
        // A run that does not start leaves nothing.
        let third = RunFolder::open(&place, &Former::Refuse)?;
        let path = third.path().to_path_buf();
        drop(third);
        assert!(!path.exists());
        assert_eq!(latest_run(&parent)?, first.path());
        std::fs::remove_file(parent.join(LATEST)).expect("a link");
        assert_eq!(latest_run(&parent)?, second.path());
        Ok(())
    }

    #[test]
    fn a_run_that_does_not_begin_leaves_none_of_the_folders_that_it_made() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path().join("runs");
        let places = [
            RunLocation::NewIn(runs.join("mnist-fc")),
            RunLocation::At(runs.join("a/b")),
        ];
        for place in &places {
            let run = RunFolder::open(place, &Former::Refuse)?;
            assert!(run.path().is_dir());
            drop(run);
            assert!(!runs.exists(), "{place:?}");
        }
        // Files and folders of other processes stay.
        for place in &places {
            let run = RunFolder::open(place, &Former::Refuse)?;
            std::fs::write(runs.join("notes.txt"), "mine").expect("written");
            drop(run);
            assert_eq!(names(&runs)?, ["notes.txt"]);
        }
        let run = RunFolder::open(&places[1], &Former::Refuse)?;
        std::fs::write(run.path().join("notes.txt"), "mine").expect("written");
        drop(run);
        assert!(runs.join("a/b/notes.txt").exists());
        let empty = folder.path().join("empty");
        std::fs::create_dir(&empty).expect("a folder");
        for place in [
            RunLocation::NewIn(empty.clone()),
            RunLocation::At(empty.clone()),
        ] {
            drop(RunFolder::open(&place, &Former::Refuse)?);
            assert!(empty.is_dir(), "{place:?}");
        }
        // One that begins keeps them.
        let place = RunLocation::NewIn(folder.path().join("others/csnn"));
        let mut run = RunFolder::open(&place, &Former::Refuse)?;
        run.begin(false)?;
        let path = run.path().to_path_buf();
        drop(run);
        assert!(path.is_dir());
        Ok(())
    }

    #[test]
    fn a_folder_in_use_is_refused_with_the_process() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let place = RunLocation::At(folder.path().to_path_buf());
        let held = RunFolder::open(&place, &Former::Refuse)?;
        for former in [Former::Refuse, Former::Replace] {
            match refused(RunFolder::open(&place, &former)) {
                RunFolderError::InUse { pid, .. } => assert_eq!(pid, Some(std::process::id())),
                other => panic!("{other}"),
            }
        }
        drop(held);
        RunFolder::open(&place, &Former::Refuse)?;
        Ok(())
    }

    #[test]
    fn a_run_is_replaced_only_if_that_is_asked_for_and_with_its_checkpoints_first() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let place = RunLocation::At(folder.path().to_path_buf());
        for name in [BEST, EPOCHS] {
            std::fs::write(folder.path().join(name), "old").expect("written");
        }
        assert!(matches!(
            refused(RunFolder::open(&place, &Former::Refuse)),
            RunFolderError::HoldsRun { .. }
        ));
        assert!(matches!(
            refused(RunFolder::open(&place, &Former::Resume)),
            RunFolderError::NothingToResume { .. }
        ));
        let mut replaced = RunFolder::open(&place, &Former::Replace)?;
        assert!(folder.path().join(BEST).exists());
        replaced.begin(false)?;
        assert!(!folder.path().join(BEST).exists());
        Ok(())
    }

    #[test]
    fn what_killed_writers_left_goes_when_the_folder_is_opened() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let curves = folder.path().join(CURVES);
        std::fs::create_dir(&curves).expect("a folder");
        let left = [
            folder.path().join(".last.safetensors.aB3.tmp"),
            curves.join(".events.out.tfevents.1.0.spikelet.x.tmp"),
        ];
        for path in &left {
            std::fs::write(path, "half").expect("written");
        }
        RunFolder::open(
            &RunLocation::At(folder.path().to_path_buf()),
            &Former::Refuse,
        )?;
        assert!(left.iter().all(|path| !path.exists()));
        Ok(())
    }
}
