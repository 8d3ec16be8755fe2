//! The folder of a run: its checkpoints and logs.

use super::super::checkpoint::{Checkpoint, Progress};
use super::super::diagnosis::check_weights;
use super::super::writer::Writer;
use super::{Own, Run};
use crate::error::{Error, Result};
use crate::files;
use crate::log::{JsonLines, SummaryWriter};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The files of a run, open for what comes next.
pub(super) struct Logs {
    pub(super) folder: PathBuf,
    pub(super) checkpoints: Writer,
    pub(super) curves: SummaryWriter,
    pub(super) epochs: JsonLines,
}

impl Run<'_> {
    fn last_path(folder: &Path) -> PathBuf {
        folder.join("last.safetensors")
    }

    /// Finds the checkpoint to go on from, and opens the logs behind it. Rank 0 reads it for all.
    pub(super) fn open_folder(&mut self) -> Result<()> {
        let folder = self.trainer.folder.clone();
        let folder = folder.filter(|_| self.together.leads());
        let last = folder.as_deref().map(Self::last_path);
        let found = match &last {
            Some(last) if self.trainer.resume && last.exists() => files::read(last)?,
            _ => vec![],
        };
        let found = self.together.hear_the_first(found)?;
        // A checkpoint is never empty.
        let resumes = !found.is_empty();
        if resumes {
            let path = last.unwrap_or_else(|| PathBuf::from("the checkpoint of rank 0"));
            let checkpoint = Checkpoint::of_bytes(&found, &path)?;
            self.check_same_run(&checkpoint, &path)?;
            checkpoint.restore(&mut self.store)?;
            self.take_up(checkpoint.progress);
            if self.together.leads() {
                self.together.tell_checkpoint(&path, &self.progress);
            }
        }
        let Some(folder) = folder else {
            return Ok(());
        };
        let (curves, epochs) = (folder.join("tensorboard"), folder.join("epochs.jsonl"));
        let together = self.together.clone();
        let last = Self::last_path(&folder);
        self.logs = Some(Logs {
            checkpoints: Writer::new(move |path, progress| {
                if path == last {
                    together.tell_checkpoint(path, progress);
                }
            }),
            // An earlier run's curves would be drawn into this one's.
            curves: SummaryWriter::resume(curves, self.progress.step)?,
            epochs: match resumes {
                true => JsonLines::resume(epochs, "epoch", self.progress.epoch as u64)?,
                false => JsonLines::create(epochs)?,
            },
            folder,
        });
        Ok(())
    }

    /// Goes on from where a checkpoint is.
    fn take_up(&mut self, progress: Progress) {
        let (before, now) = (progress.ranks, self.together.ranks());
        if before != now {
            let size = self.trainer.settings.batch_size;
            self.console.say(format!(
                "the checkpoint is of {}, here {}: a step has {} images from here on, and had {}",
                if before == 1 {
                    "1 rank".to_string()
                } else {
                    format!("{before} ranks")
                },
                if now == 1 {
                    "is 1".to_string()
                } else {
                    format!("are {now}")
                },
                now * size,
                before * size,
            ));
        }
        self.progress = progress;
        self.progress.ranks = now;
        self.earlier = self.progress.seconds;
        self.own = Own {
            loss_sum: self.progress.loss_sum,
            correct: match self.together.leads() {
                true => self.progress.correct,
                false => 0.0,
            },
        };
    }

    fn check_same_run(&self, checkpoint: &Checkpoint, path: &Path) -> Result<()> {
        let mut theirs = checkpoint.settings.clone();
        // More epochs may be asked for when the learning rate does not depend on their number.
        if theirs.schedule == crate::optim::Schedule::Constant {
            theirs.epochs = self.trainer.settings.epochs;
        }
        // How much memory a run takes decides nothing.
        theirs.memory_budget = self.trainer.settings.memory_budget;
        theirs.evaluation_batch = self.trainer.settings.evaluation_batch;
        let what = if theirs != self.trainer.settings {
            "other settings"
        } else if checkpoint.network != self.trainer.network {
            "another network"
        } else if checkpoint.dataset != self.data.train.name {
            "another data set"
        } else {
            return Ok(());
        };
        Err(Error::Checkpoint {
            path: path.to_path_buf(),
            problem: format!("it belongs to a run with {what}"),
            help: "resume with the settings it was started with, or give another folder"
                .to_string(),
        })
    }

    pub(super) fn checkpoint(&self, names: impl Iterator<Item = String>) -> Result<Checkpoint> {
        let checkpoint = Checkpoint::take(
            &self.store,
            names,
            self.trainer.network.as_ref(),
            &self.trainer.settings,
            &self.progress,
            &self.data.train.name,
        )?;
        let model = self.engine.model();
        check_weights(&checkpoint.tensors, &model, self.progress.step)?;
        Ok(checkpoint)
    }

    /// Writes all that a resumed run needs.
    pub(super) fn save(&mut self) -> Result<()> {
        self.saved = Instant::now();
        self.progress.seconds = self.earlier + self.started.elapsed().as_secs_f64();
        let Some(logs) = &mut self.logs else {
            return Ok(());
        };
        logs.curves.flush()?;
        let path = Self::last_path(&logs.folder);
        let names = self.store.names().map(String::from);
        let checkpoint = self.checkpoint(names)?;
        self.submit(path, checkpoint)
    }

    fn submit(&self, path: PathBuf, checkpoint: Checkpoint) -> Result<()> {
        match &self.logs {
            Some(logs) => logs.checkpoints.submit(path, checkpoint),
            None => Ok(()),
        }
    }

    /// As [`Run::save`], unless the last one is still being written: epochs may be shorter than
    /// that takes.
    pub(super) fn save_if_idle(&mut self) -> Result<()> {
        let busy = |logs: &Logs| logs.checkpoints.is_busy(&Self::last_path(&logs.folder));
        if self.logs.as_ref().is_some_and(busy) {
            return Ok(());
        }
        self.save()
    }

    pub(super) fn best_path(&self) -> Option<PathBuf> {
        self.logs
            .as_ref()
            .map(|logs| logs.folder.join("best.safetensors"))
    }

    /// Writes the weights alone.
    pub(super) fn save_best(&self) -> Result<()> {
        match self.best_path() {
            Some(path) => {
                let checkpoint = self.checkpoint(self.engine.model().into_iter())?;
                self.submit(path, checkpoint)
            }
            None => Ok(()),
        }
    }
}
