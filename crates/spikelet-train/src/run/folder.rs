//! Reading and writing the folder of a run.

use super::super::checkpoint::{Checkpoint, CheckpointProblem, Progress, differences};
use super::super::failed_step::check_weights;
use super::super::folder::{
    BEST, COMMAND, CURVES, EPOCHS, EXPERIMENT, LAST, RunFolder, checkpoint_of,
};
use super::super::trainer::Trainer;
use super::super::writer::Writer;
use super::{EpochSums, Run};
use crate::checkpoint::{DatasetId, RunDefinition};
use crate::health::HealthLog;
use crate::ranks::Ranks;
use spikelet_core::Result;
use spikelet_core::files::{self, write_atomically};
use spikelet_nn::runtime::VarStore;
use spikelet_nn::tensors::TensorFile;
use spikelet_report::log::{JsonLines, SummaryWriter};
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
    pub(super) health: HealthLog,
}

impl Logs {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The checkpoint from which a run resumes, if any. Rank 0 reads it for all ranks.
pub(super) fn checkpoint_to_resume(
    trainer: &Trainer<'_>,
    folder: Option<&RunFolder>,
    identity: Option<&(RunDefinition, DatasetId)>,
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
    check_same_run(identity, &checkpoint)?;
    if together.leads() {
        together.tell_checkpoint(&path, &checkpoint.progress);
    }
    Ok(Some(checkpoint))
}

/// Checks that the checkpoint is that of a run with the same network or step, settings and data.
fn check_same_run(
    identity: Option<&(RunDefinition, DatasetId)>,
    checkpoint: &Checkpoint,
) -> Result<()> {
    let Some((definition, dataset)) = identity else {
        return Ok(());
    };
    let trained = checkpoint.progress.epoch;
    let mut found = definition.differences(&checkpoint.definition, trained);
    found.extend(differences(
        "dataset",
        &checkpoint.dataset.beside(dataset),
        &dataset.beside(dataset),
    ));
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
            let sums = self.metrics.joined(&checkpoint.progress.sums);
            let sums = sums.ok_or_else(|| checkpoint.unfit(self.other_metrics(&checkpoint)))?;
            self.take_up(checkpoint.progress, sums);
        }
        let Some(mut folder) = folder else {
            return Ok(());
        };
        folder.begin(resumes)?;
        if let Some(text) = &self.trainer.experiment {
            write_atomically(folder.path().join(EXPERIMENT), text.as_bytes())?;
        }
        // A resumed run keeps the command that began it.
        if let Some(command) = self.trainer.command.as_ref().filter(|_| !resumes) {
            write_atomically(folder.path().join(COMMAND), command.as_bytes())?;
        }
        let (curves, epochs) = (folder.path().join(CURVES), folder.path().join(EPOCHS));
        let together = self.together.clone();
        let call = self.trainer.callbacks.checkpoint.clone();
        let last = folder.path().join(LAST);
        let health = match resumes {
            true => {
                let (log, probes) = HealthLog::resume(folder.path(), self.progress.step)?;
                self.evidence.probes = probes;
                log
            }
            false => HealthLog::create(folder.path()),
        };
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
            health,
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

    /// The problem of a checkpoint with the sums of other metrics.
    fn other_metrics(&self, checkpoint: &Checkpoint) -> CheckpointProblem {
        let found: Vec<&str> = checkpoint
            .progress
            .sums
            .keys()
            .map(String::as_str)
            .collect();
        let expected: Vec<&str> = self.metrics.names().collect();
        CheckpointProblem::Progress {
            field: "progress.sums".to_string(),
            found: found.join(", "),
            expected: format!("the sums of {}", expected.join(", ")),
        }
    }

    /// Continues from a checkpoint with these sums of all metrics.
    fn take_up(&mut self, progress: Progress, sums: Vec<f64>) {
        let (before, now) = (progress.ranks, self.together.ranks());
        if before != now {
            let size = self.settings.batch_size;
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
        self.progress.peak_bytes = self.memory.peak;
        self.probes.resume(self.progress.step);
        self.epochs_before = self.progress.epoch;
        self.earlier = self.progress.seconds;
        self.resumed = EpochSums {
            loss: self.progress.loss_sum,
            metrics: sums,
        };
    }

    /// A checkpoint of the tensors of a store with these names, after a check that they are finite.
    fn checkpoint(
        &self,
        store: &VarStore,
        names: Vec<String>,
        (definition, dataset): &(RunDefinition, DatasetId),
    ) -> Result<Checkpoint> {
        let names = names.into_iter();
        let checkpoint = Checkpoint::take(store, names, definition, &self.progress, dataset)?;
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
        let names = |run: &Self| run.store.names().map(String::from).collect();
        self.submit(LAST, &self.store, names)
    }

    fn submit(
        &self,
        file: &str,
        store: &VarStore,
        names: impl FnOnce(&Self) -> Vec<String>,
    ) -> Result<()> {
        let (Some(logs), Some(identity)) = (&self.logs, &self.identity) else {
            return Ok(());
        };
        let checkpoint = self.checkpoint(store, names(self), identity)?;
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

    /// Writes a checkpoint of the weights only, or of their averages if there are any.
    pub(super) fn save_best(&self) -> Result<()> {
        let weights = self.evaluated_weights();
        self.submit(BEST, weights, |run| run.engine.model())
    }
}
