//! Checkpoints are written by a separate thread while training continues.

use super::Checkpoint;
use super::checkpoint::Progress;
use spikelet_core::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The state shared by the two threads.
#[derive(Default)]
struct State {
    /// The checkpoints to be written, the newest for each file.
    waiting: BTreeMap<PathBuf, Checkpoint>,
    /// The file that is being written.
    writing: Option<PathBuf>,
    failed: Option<spikelet_core::Error>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The main function of the writing thread.
    fn write_all(&self, written: impl Fn(&Path, &Progress)) {
        let mut state = self.state();
        loop {
            if let Some((path, checkpoint)) = state.waiting.pop_first() {
                state.writing = Some(path.clone());
                drop(state);
                let end = checkpoint.write(&path);
                if end.is_ok() {
                    written(&path, &checkpoint.progress);
                }
                state = self.state();
                state.writing = None;
                if let Err(error) = end {
                    state.failed.get_or_insert(error);
                }
                self.changed.notify_all();
            } else if state.closed {
                return;
            } else {
                state = self.wait(state);
            }
        }
    }
}

/// Writes checkpoints in the background, the newest for each file, atomically.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Calls `written` on its own thread after each checkpoint.
    pub(super) fn new(written: impl Fn(&Path, &Progress) + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let own = shared.clone();
        Self {
            shared,
            thread: Some(thread::spawn(move || own.write_all(written))),
        }
    }

    /// Whether an earlier checkpoint for this file is still queued or being written.
    pub(super) fn is_busy(&self, path: &Path) -> bool {
        let state = self.shared.state();
        state.waiting.contains_key(path) || state.writing.as_deref() == Some(path)
    }

    /// Queues a checkpoint. It replaces a queued one for the same file.
    ///
    /// # Errors
    /// When an earlier one could not be written.
    pub(super) fn submit(&self, path: PathBuf, checkpoint: Checkpoint) -> Result<()> {
        let mut state = self.shared.state();
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        state.waiting.insert(path, checkpoint);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Waits until all checkpoints are written.
    ///
    /// # Errors
    /// When a checkpoint could not be written.
    pub(super) fn finish(&self) -> Result<()> {
        let mut state = self.shared.state();
        while state.writing.is_some() || !state.waiting.is_empty() {
            state = self.shared.wait(state);
        }
        match state.failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic while writing has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::checkpoint::{DatasetId, RunDefinition};
    use spikelet_nn::runtime::VarStore;

    fn checkpoint(step: u64) -> Checkpoint {
        let dataset = DatasetId {
            name: "none".to_string(),
            train_samples: 4096,
            validation_samples: 0,
            test_samples: 1,
            sha256: String::new(),
            classes: vec![],
            folder: None,
        };
        let settings = Settings {
            batch_size: 1,
            ..Settings::default()
        };
        let progress = Progress {
            step,
            batch: step as usize,
            samples: step as usize,
            ranks: 1,
            ..Progress::default()
        };
        let store = VarStore::new(spikelet_nn::device::cpu().expect("a CPU"));
        let none = std::iter::empty();
        let definition = RunDefinition::of_classifier(None, settings);
        Checkpoint::take(&store, none, &definition, &progress, &dataset).expect("nothing to take")
    }

    #[test]
    fn the_newest_checkpoint_is_there_when_all_is_written() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("last.safetensors");
        let writer = Writer::new(|_, _| {});
        for step in 0..20 {
            writer.submit(path.clone(), checkpoint(step))?;
        }
        writer.finish()?;
        assert!(!writer.is_busy(&path));
        assert_eq!(Checkpoint::read(&path)?.progress.step, 19);
        Ok(())
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_once() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("file");
        std::fs::write(&file, "no folder").expect("a file can be made");
        let writer = Writer::new(|_, _| {});
        writer.submit(file.join("last.safetensors"), checkpoint(0))?;
        assert!(writer.finish().is_err());
        writer.submit(folder.path().join("last.safetensors"), checkpoint(1))?;
        writer.finish()
    }
}
