//! The runs of a folder, and the training loop.

mod epoch_end;
mod folder;
mod initialize;
#[cfg(test)]
mod lazy_tests;
mod probes;
#[cfg(feature = "plots")]
mod report;
mod sampled_rates;
mod start;
#[cfg(test)]
mod step_tests;
mod sums;
#[cfg(test)]
mod tests;

pub use super::folder::{RunFolderError, SeriesFolder, checkpoint_file, latest_run};
pub use super::run_info::{FoundRuns, RunInfo, RunState, Setting, SkippedFolder, find_runs};

use super::checkpoint::{DatasetId, Progress, RunDefinition};
use super::engine::Engine;
use super::error::Origin;
use super::evaluation::Evaluator;
use super::in_flight::InFlight;
use super::memory::{RunMemory, check_gathered};
use super::monitored_metric::MonitoredMetric;
use super::ranks::{Ranks, Signal, SyncSchedule};
use super::step::{MetricSet, SampleShape, Step, StepMetrics};
use super::trainer::{FitReport, Start, Trainer};
use super::{Settings, TrainError, failed_step};
use crate::health::{self, Evidence, Probe};
use crate::weights::InitialWeights;
use folder::Logs;
use probes::{Place, Probes};
use sampled_rates::SampledRates;
use spikelet_core::{Error, Result};
use spikelet_data::DataLoader;
use spikelet_nn::runtime::VarStore;
use spikelet_report::log::{Console, EpochBar};
use std::time::Instant;
use sums::EpochSums;

/// Measures the time of the training batches of an epoch.
struct Clock {
    begun: Instant,
    /// Seconds of its earlier batches, in a resumed run.
    before: f64,
}

/// The evaluated data sets.
#[derive(Clone, Copy)]
struct Evaluated {
    test: bool,
    validation: bool,
}

/// A running training.
pub(super) struct Run<'a> {
    trainer: &'a Trainer<'a>,
    /// Those of the trainer, and of the step where it has its own.
    settings: Settings,
    /// The training step, as that of a single rank.
    train: Step<'a>,
    /// The forward passes for the report.
    #[cfg_attr(
        not(feature = "plots"),
        expect(dead_code, reason = "the report runs them")
    )]
    report: Vec<Step<'a>>,
    /// The definition of the run and the identity of its data, if checkpoints are written.
    identity: Option<(RunDefinition, DatasetId)>,
    together: Ranks,
    talks: SyncSchedule,
    console: Console,
    store: VarStore,
    /// The averaged weights under the names of the weights, if there are any: they are evaluated.
    averaged: Option<VarStore>,
    /// The shape of the samples, if it is one of classifiers.
    sample: Option<SampleShape>,
    engine: Box<dyn Engine>,
    metrics: MetricSet,
    monitor: MonitoredMetric,
    memory: RunMemory,
    rates: SampledRates,
    probes: Probes,
    /// The weights of another run or framework from which it starts.
    initial_weights: Option<InitialWeights>,
    /// The evidence of the run's health, without the history.
    evidence: Evidence,
    evaluation: Evaluator,
    /// Whether there is a test set, and a validation set.
    evaluated: Evaluated,
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
    /// The description of the run before its first step.
    pub(super) fn about_to_begin(&self) -> Start<'_> {
        Start {
            engine: &*self.engine,
            memory: self.memory,
            folder: self.logs.as_ref().map(|logs| logs.folder.path()),
            initial_weights: self.initial_weights.as_ref(),
        }
    }

    pub(super) fn finish_training(mut self) -> Result<FitReport> {
        let interrupted = self.train_epochs();
        let done = interrupted.and_then(|interrupted| self.finish(interrupted));
        if let Err(error) = &done {
            #[cfg(feature = "plots")]
            self.write_report_of_failure(error);
            // Before its device is dropped, which may wait for the other ranks.
            self.together.report(error);
        }
        done
    }

    /// Trains to the end of the last epoch; true if the run was interrupted before.
    fn train_epochs(&mut self) -> Result<bool> {
        while self.progress.epoch < self.settings.epochs {
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
        let (epochs, schedule) = (self.settings.epochs, self.settings.schedule.clone());
        let (epoch, first) = (self.progress.epoch, self.progress.batch);
        if let Some(width) = self.settings.delay_width
            && width.set(&mut self.store, epoch)? == 0
        {
            return Err(Error::invalid(
                "delay_width",
                "a network without learned delays",
                "leave the schedule out, or add a layer with learned delays, such as `dcls`",
            ));
        }
        if let Some(call) = &self.trainer.callbacks.before_epoch {
            call(epoch, &mut self.store)?;
        }
        let share = self.together.share(self.progress.samples);
        let mut batches = self.loader.shard(epoch as u64, share);
        // An epoch ends with an update, as does each checkpoint: accumulated gradients differ between ranks.
        let accumulate = self.settings.accumulate;
        let mut left = batches.len() / accumulate * accumulate;
        if left == 0 {
            // The run was interrupted in this epoch's evaluation, or had fewer ranks: the sums in the
            // progress are those of the full epoch.
            return Ok(true);
        }
        let total = first + left;
        let step_samples = self.step_samples();
        let all_samples = self.progress.samples + left * step_samples;
        let bar = self.console.epoch_bar(epoch + 1, epochs, total);
        bar.start_at(first);
        let clock = Clock {
            begun: Instant::now(),
            before: self.progress.train_seconds,
        };
        let monitored = (self.progress).monitored(&schedule, &self.monitor.of_plateau);
        let mut in_flight = InFlight::new();
        while left > 0
            && let Some(batch) = batches.next().transpose()?
        {
            left -= 1;
            if let Some(found) = in_flight.wait_if_full()? {
                self.count(found, &clock, &bar)?;
            }
            let ahead = in_flight.len();
            let step = self.progress.step + ahead as u64 + 1;
            let started = self.progress.samples + ahead * step_samples;
            let at = epoch as f64 + started as f64 / all_samples as f64;
            let factor = schedule.factor_with(at, epochs as f64, &monitored);
            let place = Place {
                step: step - 1,
                epoch: epoch + 1,
                ends_epoch: left == 0,
                ends_run: epoch + 1 == epochs,
            };
            let probe = self.probes.start(&batch, &place)?;
            self.keep(probe)?;
            if step.is_multiple_of(self.curve_steps) {
                let curves = self.logs.as_mut().map(|logs| &mut logs.curves);
                self.rates.start(&batch, step, curves)?;
            }
            in_flight.push(self.engine.start(&batch, step, factor)?, step);
            batches.recycle(batch);
            if left == 0 || !left.is_multiple_of(accumulate) {
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

    /// The number of samples of a batch, over all ranks.
    fn step_samples(&self) -> usize {
        self.settings.batch_size * self.together.ranks()
    }

    /// Adds the sums of all ranks in the progress. Losses are f32 and their f64 sums practically
    /// always exact, so a run that was resumed in the middle of an epoch has the same ones. For this
    /// the sum is kept, not the mean over the ranks, which would be rounded.
    fn sum_over_ranks(&mut self) -> Result<()> {
        let sums = self.own.over(&self.together)?;
        self.progress.loss_sum = self.resumed.loss + sums.loss;
        let metrics = self.resumed.metrics.iter().zip(&sums.metrics);
        let metrics: Vec<f64> = metrics.map(|(before, now)| before + now).collect();
        let each = self.metrics.each(&metrics);
        self.progress.sums = each
            .map(|(name, sums)| (name.to_string(), sums.to_vec()))
            .collect();
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
        let curves = self.logs.as_mut().map(|logs| &mut logs.curves);
        self.rates.finish(curves)?;
        let probe = self.probes.finish()?;
        self.keep(probe)
    }

    /// Adds a probe to the evidence and to the log.
    fn keep(&mut self, probe: Option<Probe>) -> Result<()> {
        let Some(probe) = probe else {
            return Ok(());
        };
        if let Some(logs) = &mut self.logs {
            logs.health.append(&self.evidence.run, &probe)?;
        }
        self.evidence.probes.push(probe);
        Ok(())
    }

    /// Adds the results of a step to the epoch.
    fn count(
        &mut self,
        (found, step): (StepMetrics, u64),
        clock: &Clock,
        bar: &EpochBar,
    ) -> Result<()> {
        let step_samples = self.step_samples();
        if !found.loss.is_finite() {
            return Err(self.diverged(found.loss, step));
        }
        let p = &mut self.progress;
        p.step = step;
        p.batch += 1;
        p.samples += step_samples;
        if let Some(call) = &self.trainer.callbacks.step {
            call(step, &found);
        }
        self.own.add(&found);
        p.train_seconds = clock.before + clock.begun.elapsed().as_secs_f64();
        bar.advance();
        // The losses of the other ranks are not known here: that of this rank is an estimate.
        let ranks = self.together.ranks() as f64;
        let loss_sum = self.resumed.loss + self.own.loss * ranks;
        let mean = loss_sum / p.batches_of_ranks(self.settings.batch_size);
        bar.show(mean, p.samples as f64 / p.train_seconds, self.unit());
        if step.is_multiple_of(self.curve_steps) {
            let mut sums = EpochSums::new(&self.metrics);
            sums.add(&found);
            let sums = sums.over(&self.together)?;
            let values =
                (self.metrics).values(sums.loss / ranks, &sums.metrics, step_samples as f64);
            if let Some(logs) = &mut self.logs {
                for (name, value) in values.iter() {
                    let tag = format!("step/{name}");
                    logs.curves.add_scalar(&tag, step, value as f32)?;
                }
            }
        }
        Ok(())
    }

    /// The unit of the speed.
    fn unit(&self) -> &'static str {
        match self.sample {
            Some(SampleShape::Image(_)) => "img/s",
            _ => "samples/s",
        }
    }

    /// The error of a step whose loss is not finite.
    fn diverged(&mut self, loss: f64, step: u64) -> Error {
        let Progress {
            epoch,
            batch,
            samples,
            ..
        } = self.progress;
        // The measurements before the failure are evidence of its cause.
        let _ = self.probes.finish().and_then(|probe| self.keep(probe));
        let share = self.together.share(samples);
        let origin = match self.loader.shard(epoch as u64, share).next() {
            None => Origin::NotSearched,
            Some(Err(error)) => Origin::Unknown(Box::new(error.into())),
            Some(Ok(given)) => {
                let draws = self.engine.draws(step);
                let found = self.on_one_device().and_then(|mut gathered| {
                    let store = gathered.as_mut().unwrap_or(&mut self.store);
                    failed_step::origin(&self.train, &given, draws, store)
                });
                found.unwrap_or_else(|error| Origin::Unknown(Box::new(error)))
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

    /// The weights that are evaluated.
    pub(super) fn evaluated_weights(&self) -> &VarStore {
        self.averaged.as_ref().unwrap_or(&self.store)
    }

    fn finish(&mut self, interrupted: bool) -> Result<FitReport> {
        if let Some(call) = &self.trainer.callbacks.end {
            call(self.evaluated_weights())?;
        }
        if let Some(logs) = &self.logs {
            logs.checkpoints.finish()?;
        }
        #[cfg_attr(
            not(feature = "plots"),
            expect(unused_mut, reason = "reports set their paths")
        )]
        let mut outcome = self.outcome(interrupted);
        #[cfg(feature = "plots")]
        self.write_reports(&mut outcome)?;
        Ok(outcome)
    }

    /// The result of the run so far, without reports.
    fn outcome(&self, interrupted: bool) -> FitReport {
        let seconds = self.earlier + self.started.elapsed().as_secs_f64();
        let history = self.progress.history.clone();
        let evidence = Evidence {
            history: history.clone(),
            ..self.evidence.clone()
        };
        let speeds: f64 = history.iter().map(|r| r.samples_per_second).sum();
        FitReport {
            epochs_trained: history.len() - self.epochs_before,
            seconds,
            samples_per_second: speeds / history.len().max(1) as f64,
            peak_bytes: self.memory.peak,
            interrupted,
            stopped_early: self.stopped_early && history.len() < self.settings.epochs,
            folder: self
                .logs
                .as_ref()
                .map(|logs| logs.folder.path().to_path_buf()),
            checkpoint: self.checkpoint_path(),
            picture: None,
            report: None,
            goal: self.monitor.goal,
            findings: health::findings(&evidence),
            evidence,
            history,
        }
    }
}
