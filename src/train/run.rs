//! The training loop.

use super::checkpoint::{Checkpoint, EpochRecord, Progress};
use super::diagnosis::{Suspect, check_weights};
use super::evaluation::Evaluation;
use super::in_flight::InFlight;
use super::step::Outcome as StepOutcome;
use super::trainer::{Outcome, Trainer};
use super::writer::Writer;
use super::{Shape, TrainStep, interrupt, picture};
use crate::device;
use crate::error::{Error, Result};
use crate::log::{Console, EpochBar, EpochLine, JsonLines, SummaryWriter};
use crate::model::Store;
use spikelet_data::{Loader, Split};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Optimiser steps between two points of the curves.
const STEPS_A_POINT: u64 = 50;

/// The files of a run, open for what comes next.
struct Logs {
    folder: PathBuf,
    checkpoints: Writer,
    curves: SummaryWriter,
    epochs: JsonLines,
}

/// Times an epoch's training batches.
struct Clock {
    begun: Instant,
    /// Seconds of its earlier batches, in a resumed run.
    before: f64,
}

/// A run that is under way.
pub(super) struct Run<'a> {
    trainer: &'a Trainer,
    data: &'a Split,
    console: Console,
    store: Store,
    shape: Shape,
    step: TrainStep,
    evaluation: Evaluation,
    loader: Loader,
    progress: Progress,
    logs: Option<Logs>,
    /// Seconds of earlier parts of this run.
    earlier: f64,
    started: Instant,
    saved: Instant,
}

impl<'a> Run<'a> {
    pub(super) fn start(trainer: &'a Trainer, data: &'a Split) -> Result<Self> {
        let settings = &trainer.settings;
        let console = Console::new(trainer.output);
        let backend = match &trainer.backend {
            Some(backend) => backend.clone(),
            None => device::cpu()?,
        };
        if data.train.len() < settings.batch_size {
            return Err(Error::invalid(
                "batch size",
                format!(
                    "{} was given, the training set has {} images",
                    settings.batch_size,
                    data.train.len()
                ),
                "use a smaller batch",
            ));
        }
        let shape = Shape {
            batch: settings.batch_size,
            image: data.train.shape,
        };
        let mut store = Store::new(backend);
        let step = TrainStep::new(&*trainer.module, settings, shape, &mut store)?;
        let evaluation = Evaluation::new(&*trainer.module, settings, &data.test, &mut store)?;
        let mut run = Self {
            loader: Loader::new(data.train.clone(), settings.training_batches())?,
            trainer,
            data,
            console,
            store,
            shape,
            step,
            evaluation,
            progress: Progress::default(),
            logs: None,
            earlier: 0.0,
            started: Instant::now(),
            saved: Instant::now(),
        };
        run.open_folder()?;
        Ok(run)
    }

    /// The step that it trains with.
    pub(super) fn step(&self) -> &TrainStep {
        &self.step
    }

    fn last_path(folder: &Path) -> PathBuf {
        folder.join("last.safetensors")
    }

    /// Finds the checkpoint to go on from, and opens the logs behind it.
    fn open_folder(&mut self) -> Result<()> {
        let Some(folder) = self.trainer.folder.clone() else {
            return Ok(());
        };
        let last = Self::last_path(&folder);
        let (curves, epochs) = (folder.join("tensorboard"), folder.join("epochs.jsonl"));
        let logs = if self.trainer.resume && last.exists() {
            let checkpoint = Checkpoint::read(&last)?;
            self.check_same_run(&checkpoint, &last)?;
            checkpoint.restore(&mut self.store)?;
            self.progress = checkpoint.progress;
            self.earlier = self.progress.seconds;
            let done = self.progress.epoch as u64;
            Logs {
                checkpoints: Writer::new(),
                curves: SummaryWriter::resume(curves, self.progress.step)?,
                epochs: JsonLines::resume(epochs, "epoch", done)?,
                folder,
            }
        } else {
            Logs {
                checkpoints: Writer::new(),
                // An earlier run's curves would be drawn into this one's.
                curves: SummaryWriter::resume(curves, 0)?,
                epochs: JsonLines::create(epochs)?,
                folder,
            }
        };
        self.logs = Some(logs);
        Ok(())
    }

    fn check_same_run(&self, checkpoint: &Checkpoint, path: &Path) -> Result<()> {
        let mut theirs = checkpoint.settings.clone();
        // More epochs may be asked for when the learning rate does not depend on their number.
        if theirs.schedule == crate::optim::Schedule::Constant {
            theirs.epochs = self.trainer.settings.epochs;
        }
        // How much memory a step takes decides nothing.
        theirs.memory_budget = self.trainer.settings.memory_budget;
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

    pub(super) fn finish_training(mut self) -> Result<Outcome> {
        let epochs = self.trainer.settings.epochs;
        while self.progress.epoch < epochs {
            if !self.train_epoch()? {
                self.save()?;
                return self.finish(true);
            }
            self.end_epoch()?;
        }
        self.finish(false)
    }

    /// Trains to the end of the present epoch; false if the run was interrupted before. Steps are
    /// started while earlier ones are under way; none is when this returns, or when something is
    /// saved.
    fn train_epoch(&mut self) -> Result<bool> {
        let settings = &self.trainer.settings;
        let total = self.loader.len();
        let (epoch, first) = (self.progress.epoch, self.progress.batch);
        let bar = self.console.epoch_bar(epoch + 1, settings.epochs, total);
        (0..first).for_each(|_| bar.advance());
        let mut batches = self.loader.epoch(epoch as u64, first);
        let clock = Clock {
            begun: Instant::now(),
            before: self.progress.train_seconds,
        };
        let mut in_flight = InFlight::new();
        while let Some(batch) = batches.next() {
            if let Some(found) = in_flight.make_room()? {
                self.count(found, &clock, &bar)?;
            }
            let ahead = in_flight.len();
            let step = self.progress.step + ahead as u64 + 1;
            let started = self.progress.batch + ahead;
            let at = epoch as f64 + started as f64 / total as f64;
            in_flight.push(self.step.start(&batch, step, at)?, step);
            batches.recycle(batch);
            if started + 1 == total {
                continue;
            }
            let interrupted = self.trainer.interruptible && interrupt::requested();
            if interrupted || self.saved.elapsed() >= self.trainer.checkpoint_every {
                self.count_all(&mut in_flight, &clock, &bar)?;
                if interrupted {
                    return Ok(false);
                }
                self.save()?;
            }
        }
        self.count_all(&mut in_flight, &clock, &bar)?;
        Ok(true)
    }

    /// Waits for every step that is under way.
    fn count_all(
        &mut self,
        in_flight: &mut InFlight<u64>,
        clock: &Clock,
        bar: &EpochBar,
    ) -> Result<()> {
        while let Some(found) = in_flight.wait_for_oldest()? {
            self.count(found, clock, bar)?;
        }
        Ok(())
    }

    /// Adds what a step found to the epoch.
    fn count(
        &mut self,
        (found, step): (StepOutcome, u64),
        clock: &Clock,
        bar: &EpochBar,
    ) -> Result<()> {
        let batch_size = self.trainer.settings.batch_size as f64;
        if !found.loss.is_finite() {
            return Err(self.diagnosis(found.loss, step));
        }
        let p = &mut self.progress;
        p.step = step;
        p.batch += 1;
        p.loss_sum += found.loss;
        p.correct += found.correct;
        p.train_seconds = clock.before + clock.begun.elapsed().as_secs_f64();
        bar.advance();
        let images = p.batch as f64 * batch_size;
        bar.show(p.loss_sum / p.batch as f64, images / p.train_seconds);
        if step.is_multiple_of(STEPS_A_POINT)
            && let Some(logs) = &mut self.logs
        {
            let share = found.correct / batch_size;
            logs.curves
                .add_scalar("step/loss", step, found.loss as f32)?;
            logs.curves
                .add_scalar("step/accuracy", step, share as f32)?;
        }
        Ok(())
    }

    /// What is to be said of the step that found a loss that is not finite.
    fn diagnosis(&mut self, loss: f64, step: u64) -> Error {
        let Progress { epoch, batch, .. } = self.progress;
        let problem = format!(
            "the loss is {loss} in step {step} (epoch {}, batch {})",
            epoch + 1,
            batch + 1
        );
        let Some(given) = self.loader.epoch(epoch as u64, batch).next() else {
            return Error::invalid("training", problem, "lower the learning rate");
        };
        let suspect = Suspect {
            module: &*self.trainer.module,
            settings: &self.trainer.settings,
            batch: &given,
            shape: self.shape,
            step,
        };
        suspect.error(&problem, &mut self.store)
    }

    fn end_epoch(&mut self) -> Result<()> {
        let tested = Instant::now();
        let (test_accuracy, test_loss) = self.evaluation.run()?;
        let settings = &self.trainer.settings;
        let p = &mut self.progress;
        let batches = p.batch.max(1) as f64;
        let images = batches * settings.batch_size as f64;
        let best_before = p.best();
        let record = EpochRecord {
            epoch: p.epoch + 1,
            train_loss: p.loss_sum / batches,
            train_accuracy: p.correct / images,
            test_loss,
            test_accuracy,
            best_accuracy: best_before.max(test_accuracy),
            images_per_second: images / p.train_seconds.max(f64::MIN_POSITIVE),
            seconds: p.train_seconds + tested.elapsed().as_secs_f64(),
        };
        let improved = p.history.is_empty() || test_accuracy > best_before;
        *p = Progress {
            step: p.step,
            epoch: p.epoch + 1,
            seconds: self.earlier + self.started.elapsed().as_secs_f64(),
            history: std::mem::take(&mut p.history),
            ..Progress::default()
        };
        p.history.push(record.clone());
        if let Some(logs) = &mut self.logs {
            let scalars = [
                ("epoch/train_loss", record.train_loss),
                ("epoch/train_accuracy", record.train_accuracy),
                ("epoch/test_loss", record.test_loss),
                ("epoch/test_accuracy", record.test_accuracy),
            ];
            for (tag, value) in scalars {
                logs.curves
                    .add_scalar(tag, self.progress.step, value as f32)?;
            }
            logs.curves.flush()?;
            logs.epochs.append(&record)?;
        }
        if improved {
            self.save_best()?;
        }
        if self.logs.is_none() {
            // Nothing is written: the weights are looked at all the same.
            self.checkpoint(self.step.model().map(String::from))?;
        } else if self.progress.epoch == self.trainer.settings.epochs {
            self.save()?;
        } else {
            self.save_if_idle()?;
        }
        self.announce(&record);
        Ok(())
    }

    fn announce(&self, record: &EpochRecord) {
        self.console.say(EpochLine {
            epoch: record.epoch,
            epochs: self.trainer.settings.epochs,
            loss: record.train_loss,
            train_accuracy: record.train_accuracy,
            test_loss: Some(record.test_loss),
            test_accuracy: Some(record.test_accuracy),
            best_accuracy: Some(record.best_accuracy),
            images_per_second: record.images_per_second,
            seconds: record.seconds,
        });
        let mut event = serde_json::json!(record);
        event["event"] = "epoch".into();
        self.console.say_json(&event);
    }

    fn checkpoint(&self, names: impl Iterator<Item = String>) -> Result<Checkpoint> {
        let checkpoint = Checkpoint::take(
            &self.store,
            names,
            self.trainer.network.as_ref(),
            &self.trainer.settings,
            &self.progress,
            &self.data.train.name,
        )?;
        let model: Vec<String> = self.step.model().map(String::from).collect();
        check_weights(&checkpoint.tensors, &model, self.progress.step)?;
        Ok(checkpoint)
    }

    /// Writes all that a resumed run needs.
    fn save(&mut self) -> Result<()> {
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
    fn save_if_idle(&mut self) -> Result<()> {
        let busy = |logs: &Logs| logs.checkpoints.is_busy(&Self::last_path(&logs.folder));
        if self.logs.as_ref().is_some_and(busy) {
            return Ok(());
        }
        self.save()
    }

    fn best_path(&self) -> Option<PathBuf> {
        self.logs
            .as_ref()
            .map(|logs| logs.folder.join("best.safetensors"))
    }

    /// Writes the weights alone.
    fn save_best(&self) -> Result<()> {
        match self.best_path() {
            Some(path) => {
                let checkpoint = self.checkpoint(self.step.model().map(String::from))?;
                self.submit(path, checkpoint)
            }
            None => Ok(()),
        }
    }

    fn peak_bytes(&self) -> usize {
        self.step.program().plan().peak_bytes() + self.evaluation.arena_bytes()
    }

    fn finish(mut self, interrupted: bool) -> Result<Outcome> {
        if let Some(logs) = &self.logs {
            logs.checkpoints.finish()?;
        }
        let seconds = self.earlier + self.started.elapsed().as_secs_f64();
        let history = self.progress.history.clone();
        let last = history.last();
        let images: f64 = history.iter().map(|r| r.images_per_second).sum();
        let mut outcome = Outcome {
            test_accuracy: last.map_or(0.0, |r| r.test_accuracy),
            best_accuracy: self.progress.best(),
            seconds,
            images_per_second: images / history.len().max(1) as f64,
            peak_bytes: self.peak_bytes(),
            interrupted,
            checkpoint: self.best_path().filter(|p| p.exists()),
            picture: None,
            history,
        };
        if !interrupted && let Some(logs) = &self.logs {
            let path = logs.folder.join("report.svg");
            picture::draw(self.trainer, self.data, &mut self.store, &outcome)?.save(&path)?;
            outcome.picture = Some(path);
        }
        Ok(outcome)
    }
}
