//! A log of JSON lines: one object per line, readable while it is written.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use spikelet_core::files::{self, FileError};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file to which objects are appended, one per line.
///
/// ```
/// # use spikelet_report::log::{JsonLines, jsonl};
/// use serde_json::{Value, json};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("log.jsonl");
/// let mut log = JsonLines::create(&path)?;
/// log.append(&json!({"epoch": 1, "loss": 0.5}))?;
/// log.append(&json!({"epoch": 2, "loss": 0.4}))?;
/// drop(log);
///
/// // The last checkpoint was taken after epoch 1: later epochs are trained again.
/// let _log = JsonLines::resume(&path, "epoch", 1)?;
/// assert_eq!(jsonl::read::<Value>(&path)?, [json!({"epoch": 1, "loss": 0.5})]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JsonLines {
    path: PathBuf,
    file: File,
}

impl JsonLines {
    /// Creates an empty log at `path`, with missing folders. An older log is replaced.
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        files::write_atomically(path, b"")?;
        Self::open(path)
    }

    /// Continues the log at `path`, or creates it, from a checkpoint at `last`: lines whose value of `key` is greater
    /// than `last` and an incomplete last line are removed. Lines without this key are kept.
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be read or written, [`FileError::Damaged`] if a line
    /// other than the last is not JSON.
    pub fn resume(path: impl AsRef<Path>, key: &str, last: u64) -> Result<Self, FileError> {
        let path = path.as_ref();
        if !path.exists() {
            return Self::create(path);
        }
        let bytes = files::read(path)?;
        let mut kept = Vec::with_capacity(bytes.len());
        for (line, value) in complete_lines(path, &bytes)? {
            let number = value.get(key).and_then(Value::as_f64);
            if number.is_none_or(|number| number <= last as f64) {
                kept.extend_from_slice(line);
                kept.push(b'\n');
            }
        }
        if kept != bytes {
            files::write_atomically(path, &kept)?;
        }
        Self::open(path)
    }

    fn open(path: &Path) -> Result<Self, FileError> {
        let file = OpenOptions::new()
            .append(true)
            .open(path)
            .map_err(FileError::io("open", path))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
        })
    }

    /// Appends one object as a line. The line is passed to the operating system before this returns. Values that are
    /// not finite are written as `null`.
    ///
    /// # Errors
    /// [`FileError::Io`] if the line cannot be written, or `object` cannot be written as JSON.
    pub fn append(&mut self, object: &impl Serialize) -> Result<(), FileError> {
        let mut line = serde_json::to_vec(object)
            .map_err(|error| FileError::io("write", &self.path)(error.into()))?;
        line.push(b'\n');
        // One write for each line: another process that reads the file sees complete lines.
        self.file
            .write_all(&line)
            .map_err(FileError::io("write", &self.path))
    }

    /// The path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads all lines of a log, without an incomplete last line.
///
/// # Errors
/// [`FileError::Io`] if the file cannot be read, [`FileError::Damaged`] with the line's number if
/// a line is not a `T`.
pub fn read<T: DeserializeOwned>(path: impl AsRef<Path>) -> Result<Vec<T>, FileError> {
    let path = path.as_ref();
    let bytes = files::read(path)?;
    complete_lines(path, &bytes)?
        .into_iter()
        .enumerate()
        .map(|(index, (_, value))| {
            serde_json::from_value(value).map_err(|error| damaged(path, index, &error))
        })
        .collect()
}

/// The lines that end in a line break, with their values.
fn complete_lines<'a>(path: &Path, bytes: &'a [u8]) -> Result<Vec<(&'a [u8], Value)>, FileError> {
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    // After the last line break there is nothing or an incomplete line.
    lines.pop();
    let count = lines.len();
    let mut values = Vec::with_capacity(count);
    for (index, line) in lines.into_iter().enumerate() {
        match serde_json::from_slice(line) {
            Ok(value) => values.push((line, value)),
            // After a power failure the last block may have any content, including line breaks.
            Err(_) if index + 1 == count => {}
            Err(error) => return Err(damaged(path, index, &error)),
        }
    }
    Ok(values)
}

fn damaged(path: &Path, index: usize, error: &serde_json::Error) -> FileError {
    FileError::Damaged {
        path: path.to_path_buf(),
        problem: format!("line {}: {error}", index + 1),
        help: "delete that line, or move the file away to start a new log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn log_of(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn an_interrupted_and_resumed_log_equals_an_unbroken_one() {
        let folder = tempfile::tempdir().unwrap();
        let (broken, unbroken) = (folder.path().join("a/log"), folder.path().join("b/log"));
        let line = |epoch: u64| json!({"epoch": epoch, "loss": 1.0 / epoch as f64});

        let mut log = JsonLines::create(&unbroken).unwrap();
        (1..=5).for_each(|epoch| log.append(&line(epoch)).unwrap());

        let mut log = JsonLines::create(&broken).unwrap();
        (1..=4).for_each(|epoch| log.append(&line(epoch)).unwrap());
        log.file.write_all(br#"{"epoch":5,"lo"#).unwrap();
        let mut log = JsonLines::resume(&broken, "epoch", 3).unwrap();
        (4..=5).for_each(|epoch| log.append(&line(epoch)).unwrap());

        assert_eq!(
            files::read(&broken).unwrap(),
            files::read(&unbroken).unwrap()
        );
    }

    #[test]
    fn lines_without_the_key_stay_and_those_beyond_go_wherever_they_stand() {
        let (_folder, path) = log_of("{\"network\":\"a\"}\n{\"step\":9}\n{\"step\":2}\n");
        JsonLines::resume(&path, "step", 2).unwrap();
        let values: Vec<Value> = read(&path).unwrap();
        assert_eq!(values, [json!({"network": "a"}), json!({"step": 2})]);
    }

    #[test]
    fn resuming_without_a_log_starts_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/log.jsonl");
        let mut log = JsonLines::resume(&path, "epoch", 3).unwrap();
        log.append(&json!({"epoch": 4, "loss": f32::NAN})).unwrap();
        assert_eq!(
            files::read(&path).unwrap(),
            b"{\"epoch\":4,\"loss\":null}\n"
        );
    }

    #[test]
    fn only_the_last_line_may_be_broken() {
        let (_folder, path) = log_of("{\"epoch\":1}\n\0\0\0\n");
        JsonLines::resume(&path, "epoch", 1).unwrap();
        assert_eq!(files::read(&path).unwrap(), b"{\"epoch\":1}\n");

        let (_folder, path) = log_of("{\"epoch\":1}\nnonsense\n{\"epoch\":2}\n");
        let message = JsonLines::resume(&path, "epoch", 1)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("line 2") && message.contains("help: delete that line"),
            "{message}"
        );
    }
}
