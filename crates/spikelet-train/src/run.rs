//! The training loop.

mod epoch_end;
mod folder;
#[cfg(test)]
mod tests;

use super::checkpoint::Progress;
use super::engine::Programs;
use super::evaluation::Evaluator;
use super::failed_step::FailedStep;
use super::folder::RunFolder;
use super::in_flight::InFlight;
use super::memory::{RunMemory, Task, check_gathered};
use super::ranks::{Ranks, Signal, SyncSchedule};
use super::step::{ACCURACY, StepMetrics};
use super::trainer::{EXAMPLES, FitReport, Start, Trainer};
use super::{BatchShape, DatasetId, Engine, Origin, RankInfo, TrainError};
use crate::log::{Console, EpochBar, Output};
use folder::{Logs, checkpoint_to_resume};
use spikelet_core::{Error, Result};
use spikelet_data::{DataLoader, ImageDataset, LoaderConfig, Split};
use spikelet_nn::runtime::VarStore;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Measures the time of the training batches of an epoch.
struct Clock {
    begun: Instant,
    /// Seconds of its earlier batches, in a resumed run.
    before: f64,
}

/// Sums over training batches of an epoch.
#[derive(Clone, Copy, Default)]
struct EpochSums {
    /// Of the mean losses of the batches.
    loss: f64,
    /// Of the images classified correctly.
    correct: f64,
}

/// A running training.
pub(super) struct Run<'a> {
    trainer: &'a Trainer,
    #[cfg_attr(
        not(feature = "plots"),
        expect(dead_code, reason = "the report reads it")
    )]
    data: &'a Split,
    /// The identity of the data, if checkpoints are written.
    dataset: Option<DatasetId>,
    together: Ranks,
    talks: SyncSchedule,
    console: Console,
    store: VarStore,
    shape: BatchShape,
    engine: Box<dyn Engine>,
    memory: RunMemory,
    evaluation: Evaluator,
    /// Whether there are validation images.
    validates: bool,
    loader: DataLoader,
    progress: Progress,
    /// The sums over the batches of this rank in this epoch since the run was started or resumed. Those of the
    /// other ranks are added to `progress` before it is saved or printed.
    own: EpochSums,
    /// Sums over the batches of all ranks that were trained before the run was resumed, the same on
    /// all ranks.
    resumed: EpochSums,
    logs: Option<Logs>,
    /// The number of steps between two points of the curves, the same on all ranks.
    curve_steps: u64,
    /// The number of epochs before the run was resumed.
    epochs_before: usize,
    /// The seconds before the run was resumed.
    earlier: f64,
    started: Instant,
    saved: Instant,
    /// Whether the run ends before its last epoch.
    stopped_early: bool,
}

impl<'a> Run<'a> {
    pub(super) fn start(trainer: &'a Trainer, data: &'a Split) -> Result<Self> {
        let settings = &trainer.settings;
        let together = Ranks::new(trainer.group.clone());
        let console = Console::new(match together.leads() {
            true => trainer.output,
            false => Output::Quiet,
        });
        let (train, validation) = settings.parts(&data.train)?;
        together.check_batch(settings.batch_size, train.len())?;
        let folder = match &trainer.place {
            Some(place) if together.leads() => Some(RunFolder::open(place, &trainer.former)?),
            _ => None,
        };
        let written = trainer.place.is_some();
        let dataset = written.then(|| DatasetId::new(data, &train));
        let resumed = checkpoint_to_resume(trainer, folder.as_ref(), dataset.as_ref(), &together)?;
        let engine = trainer.engine.as_ref();
        let first = engine.and_then(|engine| engine.first_device());
        let backend = match first.or(trainer.backend.as_ref()) {
            Some(backend) => backend.clone(),
            None => spikelet_nn::device::cpu()?,
        };
        let shape = BatchShape {
            batch: settings.batch_size,
            image: data.train.shape,
        };
        let mut store = VarStore::new(backend);
        let place = RankInfo {
            rank: together.rank(),
            ranks: together.ranks(),
        };
        let evaluated: Vec<&Arc<ImageDataset>> =
            [&data.test].into_iter().chain(&validation).collect();
        let tested: Vec<usize> = evaluated.iter().map(|data| data.len()).collect();
        let task = Task {
            module: &*trainer.module,
            settings,
            shape,
            place,
            tested: &tested,
            examples: if written {
                EXAMPLES.min(data.test.len())
            } else {
                0
            },
        };
        let programs = match engine {
            Some(engine) => engine.build(&trainer.module, &task, &mut store)?,
            None => Programs::on_one_device(&task, &together, &mut store)?,
        };
        let evaluation = Evaluator::new(programs.evaluation, settings, &evaluated)?;
        let curve_steps =
            together.broadcast_from_rank0(trainer.curve_steps.to_le_bytes().to_vec())?;
        let batches = LoaderConfig {
            threads: trainer.loader_threads,
            ..settings.training_batches()
        };
        let mut run = Self {
            loader: DataLoader::new(train, batches)?,
            trainer,
            data,
            dataset,
            together,
            talks: SyncSchedule::new(),
            console,
            store,
            shape,
            engine: programs.engine,
            memory: programs.memory,
            evaluation,
            validates: validation.is_some(),
            progress: Progress {
                ranks: place.ranks,
                ..Progress::default()
            },
            own: EpochSums::default(),
            resumed: EpochSums::default(),
            logs: None,
            curve_steps: u64::from_le_bytes(
                <[u8; 8]>::try_from(&curve_steps[..]).unwrap_or_default(),
            )
            .max(1),
            epochs_before: 0,
            earlier: 0.0,
            started: Instant::now(),
            saved: Instant::now(),
            stopped_early: false,
        };
        run.start_from_weights(resumed.is_some())?;
        run.open_folder(folder, resumed)?;
        Ok(run)
    }

    /// The description of the run before its first step.
    pub(super) fn about_to_begin(&self) -> Start<'_> {
        Start {
            engine: &*self.engine,
            memory: self.memory,
            folder: self.logs.as_ref().map(|logs| logs.folder.path()),
        }
    }

    pub(super) fn finish_training(mut self) -> Result<FitReport> {
        let interrupted = self.train_epochs();
        let done = interrupted.and_then(|interrupted| self.finish(interrupted));
        if let Err(error) = &done {
            // Before its device is dropped, which may wait for the other ranks.
            self.together.report(error);
        }
        done
    }

    /// Trains to the end of the last epoch; true if the run was interrupted before.
    fn train_epochs(&mut self) -> Result<bool> {
        while self.progress.epoch < self.trainer.settings.epochs {
            if self.trainer.is_out_of_patience(&self.progress.history) || self.stopped_early {
                self.stopped_early = true;
                self.save()?;
                break;
            }
            if !(self.train_epoch()? && self.end_epoch()?) {
                self.save()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Trains to the end of the current epoch; false if the run was interrupted before. Steps are started while
    /// earlier ones are running; all are finished when this returns or a checkpoint is saved.
    fn train_epoch(&mut self) -> Result<bool> {
        let settings = &self.trainer.settings;
        let (epoch, first) = (self.progress.epoch, self.progress.batch);
        let share = self.together.share(self.progress.images);
        let mut batches = self.loader.shard(epoch as u64, share);
        if batches.len() == 0 {
            // The run was interrupted in this epoch's evaluation, or had fewer ranks: the sums in the
            // progress are those of the full epoch.
            return Ok(true);
        }
        let total = first + batches.len();
        let step_images = self.step_images();
        let all_images = self.progress.images + batches.len() * step_images;
        let bar = self.console.epoch_bar(epoch + 1, settings.epochs, total);
        bar.start_at(first);
        let clock = Clock {
            begun: Instant::now(),
            before: self.progress.train_seconds,
        };
        let monitored = self.progress.monitored(&settings.schedule);
        let mut in_flight = InFlight::new();
        while let Some(batch) = batches.next().transpose()? {
            if let Some(found) = in_flight.wait_if_full()? {
                self.count(found, &clock, &bar)?;
            }
            let ahead = in_flight.len();
            let step = self.progress.step + ahead as u64 + 1;
            let started = self.progress.images + ahead * step_images;
            let at = epoch as f64 + started as f64 / all_images as f64;
            let factor = (settings.schedule).factor_with(at, settings.epochs as f64, &monitored);
            in_flight.push(self.engine.start(&batch, step, factor)?, step);
            batches.recycle(batch);
            if started + step_images == all_images {
                continue;
            }
            let own = Signal {
                stop: self.trainer.is_end_requested(),
                save: self.saved.elapsed() >= self.trainer.checkpoint_every,
            };
            let pause = self.talks.step(&self.together, own)?;
            if pause.stop || pause.save {
                self.count_all(&mut in_flight, &clock, &bar)?;
                self.sum_over_ranks()?;
                if pause.stop {
                    return Ok(false);
                }
                self.save()?;
            }
        }
        self.count_all(&mut in_flight, &clock, &bar)?;
        self.sum_over_ranks()?;
        Ok(true)
    }

    /// The number of images of a step, over all ranks.
    fn step_images(&self) -> usize {
        self.trainer.settings.batch_size * self.together.ranks()
    }

    /// Adds the sums of all ranks in the progress. Losses are f32 and their f64 sums practically
    /// always exact, so a run that was resumed in the middle of an epoch has the same ones. For this
    /// the sum is kept, not the mean over the ranks, which would be rounded.
    fn sum_over_ranks(&mut self) -> Result<()> {
        let mut sums = [self.own.loss, self.own.correct];
        self.together.sum(&mut sums)?;
        self.progress.loss_sum = self.resumed.loss + sums[0];
        self.progress.correct = self.resumed.correct + sums[1];
        Ok(())
    }

    /// Waits for all running steps.
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

    /// Adds the results of a step to the epoch.
    fn count(
        &mut self,
        (found, step): (StepMetrics, u64),
        clock: &Clock,
        bar: &EpochBar,
    ) -> Result<()> {
        let step_images = self.step_images();
        if !found.loss.is_finite() {
            return Err(self.diverged(found.loss, step));
        }
        let p = &mut self.progress;
        p.step = step;
        p.batch += 1;
        p.images += step_images;
        if let Some(call) = &self.trainer.callbacks.step {
            call(step, &found);
        }
        self.own.loss += found.loss;
        let correct = found.sum(ACCURACY);
        self.own.correct += correct;
        p.train_seconds = clock.before + clock.begun.elapsed().as_secs_f64();
        bar.advance();
        // The losses of the other ranks are not known here: that of this rank is an estimate.
        let ranks = self.together.ranks() as f64;
        let loss_sum = self.resumed.loss + self.own.loss * ranks;
        let mean = loss_sum / p.batches_of_ranks(self.trainer.settings.batch_size);
        bar.show(mean, p.images as f64 / p.train_seconds);
        if step.is_multiple_of(self.curve_steps) {
            let mut sums = [found.loss, correct];
            self.together.sum(&mut sums)?;
            let (loss, share) = (sums[0] / ranks, sums[1] / step_images as f64);
            if let Some(logs) = &mut self.logs {
                logs.curves.add_scalar("step/loss", step, loss as f32)?;
                logs.curves
                    .add_scalar("step/accuracy", step, share as f32)?;
            }
        }
        Ok(())
    }

    /// The error of a step whose loss is not finite.
    fn diverged(&mut self, loss: f64, step: u64) -> Error {
        let Progress {
            epoch,
            batch,
            images,
            ..
        } = self.progress;
        let share = self.together.share(images);
        let origin = match self.loader.shard(epoch as u64, share).next() {
            None => Origin::NotSearched,
            Some(Err(error)) => Origin::Unknown(Box::new(error.into())),
            Some(Ok(given)) => {
                let failed = FailedStep {
                    module: &*self.trainer.module,
                    settings: &self.trainer.settings,
                    batch: &given,
                    shape: self.shape,
                    draws: self.engine.draws(step),
                };
                match self.on_one_device() {
                    Ok(mut store) => failed.origin(store.as_mut().unwrap_or(&mut self.store)),
                    Err(error) => Origin::Unknown(Box::new(error)),
                }
            }
        };
        TrainError::Diverged {
            loss,
            step,
            epoch: epoch + 1,
            batch: batch + 1,
            origin,
        }
        .into()
    }

    /// The tensors on one device; `None` if the store has only one device.
    fn on_one_device(&self) -> Result<Option<VarStore>> {
        let Some(device) = self.engine.gathering_device() else {
            return Ok(None);
        };
        check_gathered(&self.store, &*device)?;
        Ok(Some(self.store.gathered(&device)?))
    }

    fn finish(&mut self, interrupted: bool) -> Result<FitReport> {
        if let Some(logs) = &self.logs {
            logs.checkpoints.finish()?;
        }
        let seconds = self.earlier + self.started.elapsed().as_secs_f64();
        let history = self.progress.history.clone();
        let last = history.last();
        let images: f64 = history.iter().map(|r| r.images_per_second).sum();
        let mut outcome = FitReport {
            test_accuracy: last.map_or(0.0, |r| r.test_accuracy),
            epochs_trained: history.len() - self.epochs_before,
            seconds,
            images_per_second: images / history.len().max(1) as f64,
            peak_bytes: self.memory.peak,
            interrupted,
            stopped_early: self.stopped_early && history.len() < self.trainer.settings.epochs,
            folder: self
                .logs
                .as_ref()
                .map(|logs| logs.folder.path().to_path_buf()),
            checkpoint: self.checkpoint_path(),
            picture: None,
            history,
        };
        if !interrupted {
            outcome.picture = self.draw(&outcome)?;
        }
        Ok(outcome)
    }

    /// Writes the report of the run and returns its path.
    #[cfg(feature = "plots")]
    fn draw(&mut self, outcome: &FitReport) -> Result<Option<PathBuf>> {
        let Some(logs) = &self.logs else {
            return Ok(None);
        };
        let path = logs.folder.path().join(super::folder::REPORT);
        let (evaluation, store) = (&mut self.evaluation, &mut self.store);
        super::picture::draw(self.trainer, self.data, evaluation, store, outcome)?.save(&path)?;
        Ok(Some(path))
    }

    #[cfg(not(feature = "plots"))]
    fn draw(&mut self, _: &FitReport) -> Result<Option<PathBuf>> {
        Ok(None)
    }
}
