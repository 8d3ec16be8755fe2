//! Event files that TensorBoard reads (`tensorboard --logdir runs`), written without TensorFlow.
//!
//! A file is a sequence of TFRecords (`record.rs`), each with one protobuf `Event` (`event.rs`).

mod event;
mod read;
mod record;

pub use read::read_scalars;

use spikelet_core::files::{self, FileError};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes scalars, histograms and images for TensorBoard.
///
/// ```
/// # use spikelet_report::log::SummaryWriter;
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let mut writer = SummaryWriter::create(folder)?;
/// writer.add_scalar("loss/train", 1, 0.41)?;
/// writer.flush()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Events are buffered. Call [`flush`](Self::flush) after each epoch, so that TensorBoard can read them and they are
/// not lost if the process is killed.
#[derive(Debug)]
pub struct SummaryWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl SummaryWriter {
    /// Creates a new event file in `folder`, which is created if needed. Existing event files are kept, and
    /// TensorBoard draws their curves in the same plot: use a separate folder for each run.
    ///
    /// # Errors
    /// [`FileError::Io`] if the folder or the file cannot be created.
    pub fn create(folder: impl AsRef<Path>) -> Result<Self, FileError> {
        let folder = folder.as_ref();
        files::create_folder(folder)?;
        let seconds = now() as u64;
        // TensorBoard reads the files of a folder in the order of their names.
        let path = (0..)
            .map(|n| folder.join(format!("events.out.tfevents.{seconds:010}.{n}.spikelet")))
            .find(|path| !path.exists())
            .expect("there are more numbers than files");
        files::write_atomically(&path, &record::frame(&event::version(now())))?;
        Self::open(path)
    }

    /// Continues the run in `folder` from a checkpoint at `step`: events of later steps and an incomplete last event
    /// are removed, and new ones are appended to the same file. The curves of an interrupted run are the same as
    /// those of an uninterrupted one. Without an event file in `folder` this is [`create`](Self::create).
    ///
    /// # Errors
    /// [`FileError::Io`] if a file cannot be read or written.
    pub fn resume(folder: impl AsRef<Path>, step: u64) -> Result<Self, FileError> {
        Self::resume_with(folder.as_ref(), |of, _| of <= step)
    }

    /// The same with a function of step and tag that returns whether an event is kept.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn resume_with(folder: &Path, keep: impl Fn(u64, &str) -> bool) -> Result<Self, FileError> {
        let paths = event_files(folder)?;
        for path in &paths {
            let bytes = files::read(path)?;
            let kept = kept_of(&bytes, &keep);
            if kept != bytes {
                files::write_atomically(path, &kept)?;
            }
        }
        match paths.into_iter().next_back() {
            Some(path) => Self::open(path),
            None => Self::create(folder),
        }
    }

    fn open(path: PathBuf) -> Result<Self, FileError> {
        let file = OpenOptions::new()
            .append(true)
            .open(&path)
            .map_err(FileError::io("open", &path))?;
        Ok(Self {
            path,
            file: BufWriter::new(file),
        })
    }

    /// Adds the point (`step`, `value`) to the curve `tag`. A slash in a tag groups curves.
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be written.
    pub fn add_scalar(&mut self, tag: &str, step: u64, value: f32) -> Result<(), FileError> {
        self.write(&event::scalar(now(), step, tag, value))
    }

    /// Adds the histogram of `values`. Values that are not finite are skipped.
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be written.
    pub fn add_histogram(&mut self, tag: &str, step: u64, values: &[f32]) -> Result<(), FileError> {
        self.write(&event::histogram(now(), step, tag, values))
    }

    /// Adds an image, given as a PNG file's bytes and its `[height, width]` in pixels.
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be written.
    pub fn add_image(
        &mut self,
        tag: &str,
        step: u64,
        png: &[u8],
        size: [u32; 2],
    ) -> Result<(), FileError> {
        self.write(&event::image(now(), step, tag, png, size))
    }

    /// Writes all buffered events to the file.
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be written.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.file
            .flush()
            .map_err(FileError::io("write", &self.path))
    }

    /// The event file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, event: &[u8]) -> Result<(), FileError> {
        self.file
            .write_all(&record::frame(event))
            .map_err(FileError::io("write", &self.path))
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |elapsed| elapsed.as_secs_f64())
}

/// The event files in `folder`, in the order in which TensorBoard reads them.
fn event_files(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(FileError::io("read the folder", folder))? {
        let path = entry
            .map_err(FileError::io("read the folder", folder))?
            .path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Without temporary files, which begin with a dot, of an interrupted rewriting.
        if name.starts_with("events.out.tfevents.") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The complete records of `file` whose step and tag are kept, after a version record.
fn kept_of(file: &[u8], keep: impl Fn(u64, &str) -> bool) -> Vec<u8> {
    let mut kept = Vec::with_capacity(file.len());
    let mut rest = file;
    while let Some((data, after)) = record::split(rest) {
        if keep(event::step(data), event::tag(data)) {
            kept.extend_from_slice(&rest[..rest.len() - after.len()]);
        }
        rest = after;
    }
    if kept.is_empty() {
        kept = record::frame(&event::version(now()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::event::Field;
    use super::*;

    /// (tag, step, value) of all scalars; panics on an invalid record.
    fn scalars(path: &Path) -> Vec<(String, u64, f32)> {
        let bytes = files::read(path).unwrap();
        let mut rest = &bytes[..];
        let mut found = Vec::new();
        let mut first = true;
        while !rest.is_empty() {
            let (data, after) = record::split(rest).expect("a valid record");
            rest = after;
            if std::mem::take(&mut first) {
                assert!(event::fields(data).any(|f| f == Field::Bytes(3, b"brain.Event:2")));
                continue;
            }
            let inside = |message, number| {
                event::fields(message).find_map(move |field| match field {
                    Field::Bytes(n, bytes) | Field::Fixed(n, bytes) if n == number => Some(bytes),
                    _ => None,
                })
            };
            let value = inside(inside(data, 5).unwrap(), 1).unwrap();
            if let Some(number) = inside(value, 2) {
                found.push((
                    String::from_utf8(inside(value, 1).unwrap().to_vec()).unwrap(),
                    event::step(data),
                    f32::from_le_bytes(number.try_into().unwrap()),
                ));
            }
        }
        found
    }

    fn point(tag: &str, step: u64, value: f32) -> (String, u64, f32) {
        (tag.to_string(), step, value)
    }

    #[test]
    fn scalars_are_written_in_order_with_sound_checksums() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SummaryWriter::create(folder.path().join("new/run")).unwrap();
        writer.add_scalar("loss/train", 1, 0.5).unwrap();
        writer.add_histogram("rate", 1, &[0.0, 0.5, 1.0]).unwrap();
        writer
            .add_image("raster", 1, b"\x89PNG...", [8, 4])
            .unwrap();
        writer.add_scalar("accuracy/τ", 70_000, f32::MAX).unwrap();
        writer.flush().unwrap();
        assert_eq!(
            scalars(writer.path()),
            [
                point("loss/train", 1, 0.5),
                point("accuracy/τ", 70_000, f32::MAX)
            ]
        );
    }

    #[test]
    fn an_interrupted_and_resumed_run_leaves_the_curve_of_an_unbroken_one() {
        let folder = tempfile::tempdir().unwrap();
        let value = |step: u64| 1.0 / step as f32;
        let mut writer = SummaryWriter::create(folder.path()).unwrap();
        for step in 1..=7 {
            writer.add_scalar("loss", step, value(step)).unwrap();
        }
        writer.flush().unwrap();
        let path = writer.path().to_path_buf();
        drop(writer);
        // The process was killed in the middle of a record.
        let bytes = files::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();

        let mut writer = SummaryWriter::resume(folder.path(), 4).unwrap();
        assert_eq!(writer.path(), path);
        for step in 5..=8 {
            writer.add_scalar("loss", step, value(step)).unwrap();
        }
        writer.flush().unwrap();
        let expected: Vec<_> = (1..=8).map(|s| point("loss", s, value(s))).collect();
        assert_eq!(scalars(&path), expected);
    }

    #[test]
    fn what_is_kept_can_depend_on_the_tag() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SummaryWriter::create(folder.path()).unwrap();
        writer.add_scalar("step/loss", 4, 0.5).unwrap();
        writer.add_histogram("epoch/rates", 4, &[0.5]).unwrap();
        writer.add_scalar("epoch/loss", 4, 0.25).unwrap();
        drop(writer);
        let keep = |step, tag: &str| step < 4 || tag.starts_with("step/");
        let writer = SummaryWriter::resume_with(folder.path(), keep).unwrap();
        assert_eq!(scalars(writer.path()), [point("step/loss", 4, 0.5)]);
    }

    #[test]
    fn every_file_of_the_folder_is_purged_and_the_last_continued() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let mut writer = SummaryWriter::create(folder.path()).unwrap();
            writer.add_scalar("a", 1, 1.0).unwrap();
            writer.add_scalar("a", 9, 9.0).unwrap();
        }
        let paths = event_files(folder.path()).unwrap();
        assert_eq!(paths.len(), 2);
        let writer = SummaryWriter::resume(folder.path(), 1).unwrap();
        assert_eq!(writer.path(), paths[1]);
        for path in &paths {
            assert_eq!(scalars(path), [point("a", 1, 1.0)]);
        }
    }

    #[test]
    fn resuming_survives_a_missing_folder_and_a_file_that_is_all_damage() {
        let folder = tempfile::tempdir().unwrap();
        let writer = SummaryWriter::resume(folder.path().join("none"), 3).unwrap();
        assert!(scalars(writer.path()).is_empty());

        std::fs::write(folder.path().join("events.out.tfevents.1.x"), b"rubbish").unwrap();
        let mut writer = SummaryWriter::resume(folder.path(), 3).unwrap();
        writer.add_scalar("a", 4, 4.0).unwrap();
        writer.flush().unwrap();
        assert_eq!(scalars(writer.path()), [point("a", 4, 4.0)]);
    }
}
