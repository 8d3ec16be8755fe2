//! Reading and writing the folder of a run.

use super::super::checkpoint::{Checkpoint, CheckpointProblem, Progress, differences};
use super::super::failed_step::check_weights;
use super::super::folder::{BEST, CURVES, EPOCHS, LAST, RunFolder, checkpoint_of};
use super::super::trainer::Trainer;
use super::super::writer::Writer;
use super::{EpochSums, Run};
use crate::DatasetId;
use crate::log::{JsonLines, SummaryWriter};
use crate::ranks::Ranks;
use crate::step::load_weights;
use spikelet_core::Result;
use spikelet_core::files;
use spikelet_nn::tensors::TensorFile;
use std::path::PathBuf;
use std::time::Instant;

/// The prefix of the tags of curves with one point per epoch.
pub(super) const EPOCH_TAGS: &str = "epoch/";

/// The open files of a run.
pub(super) struct Logs {
    pub(super) folder: RunFolder,
    pub(super) checkpoints: Writer,
    pub(super) curves: SummaryWriter,
    pub(super) epochs: JsonLines,
}

impl Logs {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The checkpoint from which a run resumes, if any. Rank 0 reads it for all ranks.
pub(super) fn checkpoint_to_resume(
    trainer: &Trainer,
    folder: Option<&RunFolder>,
    dataset: Option<&DatasetId>,
    together: &Ranks,
) -> Result<Option<Checkpoint>> {
    let path = folder.and_then(|folder| checkpoint_of(folder.path(), &trainer.former));
    let bytes = path.as_ref().map_or(Ok(vec![]), files::read)?;
    let bytes = together.broadcast_from_rank0(bytes)?;
    // A checkpoint is never empty.
    if bytes.is_empty() && path.is_none() {
        return Ok(None);
    }
    let path = path.unwrap_or_else(|| PathBuf::from("the checkpoint of rank 0"));
    let checkpoint = Checkpoint::from_bytes(&bytes, &path)?;
    check_same_run(trainer, dataset, &checkpoint)?;
    if together.leads() {
        together.tell_checkpoint(&path, &checkpoint.progress);
    }
    Ok(Some(checkpoint))
}

/// Checks that the checkpoint is that of a run with the same network, settings and data.
fn check_same_run(
    trainer: &Trainer,
    dataset: Option<&DatasetId>,
    checkpoint: &Checkpoint,
) -> Result<()> {
    let mut theirs = checkpoint.settings.clone();
    let ours = &trainer.settings;
    // More epochs are allowed when the learning rate does not depend on their number.
    if !theirs.schedule.depends_on_epochs() && ours.epochs >= checkpoint.progress.epoch {
        theirs.epochs = ours.epochs;
    }
    // The memory budget does not affect the results.
    theirs.memory_budget = ours.memory_budget;
    theirs.evaluation_batch = ours.evaluation_batch;
    let mut found = differences("network", &checkpoint.network, &trainer.network);
    found.extend(differences("settings", &theirs, ours));
    if let Some(dataset) = dataset {
        found.extend(differences("dataset", &checkpoint.dataset, dataset));
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(checkpoint.unfit(CheckpointProblem::OtherRun(found))),
    }
}

impl Run<'_> {
    /// Resumes from a checkpoint, if there is one, and opens the logs after it.
    pub(super) fn open_folder(
        &mut self,
        folder: Option<RunFolder>,
        checkpoint: Option<Checkpoint>,
    ) -> Result<()> {
        let resumes = checkpoint.is_some();
        if let Some(checkpoint) = checkpoint {
            checkpoint.restore_run(&mut self.store)?;
            self.take_up(checkpoint.progress);
        }
        let Some(mut folder) = folder else {
            return Ok(());
        };
        folder.begin(resumes)?;
        let (curves, epochs) = (folder.path().join(CURVES), folder.path().join(EPOCHS));
        let together = self.together.clone();
        let call = self.trainer.callbacks.checkpoint.clone();
        let last = folder.path().join(LAST);
        let between_epochs = self.progress.batch == 0;
        self.logs = Some(Logs {
            checkpoints: Writer::new(move |path, progress| {
                if path == last {
                    together.tell_checkpoint(path, progress);
                }
                if let Some(call) = &call {
                    call(path, progress);
                }
            }),
            epochs: match resumes {
                true => JsonLines::resume(epochs, "epoch", self.progress.epoch as u64)?,
                false => JsonLines::create(epochs)?,
            },
            // The curves of an earlier run would be in the same plot.
            curves: SummaryWriter::resume_with(&curves, |step, tag| {
                // The points of an epoch have its last step, which a checkpoint that was saved
                // during the evaluation has too: a run that was killed later may have left them.
                let last = self.progress.step;
                step < last || step == last && (between_epochs || !tag.starts_with(EPOCH_TAGS))
            })?,
            folder,
        });
        Ok(())
    }

    /// Continues from a checkpoint.
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
        self.epochs_before = self.progress.epoch;
        self.earlier = self.progress.seconds;
        self.resumed = EpochSums {
            loss: self.progress.loss_sum,
            correct: self.progress.correct,
        };
    }

    /// Reads the weights from which the training starts, if they are given and the run is not resumed. Rank 0 reads
    /// them for all ranks.
    pub(super) fn start_from_weights(&mut self, resumes: bool) -> Result<()> {
        let Some(path) = self.trainer.weights.as_ref().filter(|_| !resumes) else {
            return Ok(());
        };
        let bytes = match self.together.leads() {
            true => files::read(path)?,
            false => vec![],
        };
        let bytes = self.together.broadcast_from_rank0(bytes)?;
        let file = TensorFile::from_bytes(&bytes, path)?;
        load_weights(&mut self.store, &self.engine.model(), &file, path)
    }

    /// A checkpoint of the tensors with these names, after a check that they are finite.
    fn checkpoint(&self, names: Vec<String>, dataset: &DatasetId) -> Result<Checkpoint> {
        let checkpoint = Checkpoint::take(
            &self.store,
            names.into_iter(),
            self.trainer.network.as_ref(),
            &self.trainer.settings,
            &self.progress,
            dataset,
        )?;
        check_weights(&checkpoint.tensors, self.progress.step)?;
        Ok(checkpoint)
    }

    /// Checks the weights if no files are written.
    pub(super) fn look_at_weights(&self) -> Result<()> {
        let mut tensors = TensorFile::default();
        for name in self.engine.model() {
            let tensor = self.store.get(&name)?;
            tensors.tensors.insert(name, tensor);
        }
        check_weights(&tensors, self.progress.step)
    }

    /// Writes the checkpoint for resuming.
    pub(super) fn save(&mut self) -> Result<()> {
        self.saved = Instant::now();
        self.progress.seconds = self.earlier + self.started.elapsed().as_secs_f64();
        if let Some(logs) = &mut self.logs {
            logs.curves.flush()?;
        }
        self.submit(LAST, |run| run.store.names().map(String::from).collect())
    }

    fn submit(&self, file: &str, names: impl FnOnce(&Self) -> Vec<String>) -> Result<()> {
        let (Some(logs), Some(dataset)) = (&self.logs, &self.dataset) else {
            return Ok(());
        };
        let checkpoint = self.checkpoint(names(self), dataset)?;
        logs.checkpoints.submit(logs.path(file), checkpoint)
    }

    /// As [`Run::save`], unless the last checkpoint is still being written: epochs may be shorter than the writing.
    pub(super) fn save_if_idle(&mut self) -> Result<()> {
        let busy = |logs: &Logs| logs.checkpoints.is_busy(&logs.path(LAST));
        if self.logs.as_ref().is_some_and(busy) {
            return Ok(());
        }
        self.save()
    }

    /// The path of the weights of the best epoch, or of the last epoch if there is no best one.
    pub(super) fn checkpoint_path(&self) -> Option<PathBuf> {
        let logs = self.logs.as_ref()?;
        let mut files = [BEST, LAST].into_iter().map(|name| logs.path(name));
        files.find(|path| path.exists())
    }

    /// Writes a checkpoint of the weights only.
    pub(super) fn save_best(&self) -> Result<()> {
        self.submit(BEST, |run| run.engine.model())
    }
}
