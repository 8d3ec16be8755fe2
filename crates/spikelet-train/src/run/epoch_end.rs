//! The end of an epoch: the evaluation, the epoch's record in logs and curves, and checkpoints.

use super::super::checkpoint::EpochRecord;
use super::folder::EPOCH_TAGS;
use super::{EpochSums, Evaluated, Progress, Run};
use crate::metric::MetricValues;
use spikelet_core::Result;
use spikelet_report::log::EpochLine;
use std::time::Instant;

impl Run<'_> {
    /// Evaluates the network and begins the next epoch; false if the run was interrupted before the evaluation. The
    /// progress is then that of the last batch of the epoch: a resumed run begins with the evaluation.
    pub(super) fn end_epoch(&mut self) -> Result<bool> {
        let tested = Instant::now();
        let (parameters, untrained) = (self.engine.parameters(), self.engine.untrained());
        self.together
            .follow_the_first(&mut self.store, &untrained)?;
        self.together.check_same_weights(&self.store, &parameters)?;
        let Evaluated {
            test: tests,
            validation: validates,
        } = self.evaluated;
        // The test set is the first evaluated data set.
        let Some(test) = self.evaluate(tests.then_some(0))? else {
            return Ok(false);
        };
        let Some(validation) = self.evaluate(validates.then_some(usize::from(tests)))? else {
            return Ok(false);
        };
        let p = &mut self.progress;
        let batches = p.batches_of_ranks(self.settings.batch_size);
        let samples = p.samples.max(1) as f64;
        let before = self.monitor.best(&p.history);
        let now = validation
            .as_ref()
            .and_then(|values| values.get(&self.monitor.name));
        let improved = now.is_some_and(|now| self.monitor.improves(now, before));
        let sums = self.metrics.joined(&p.sums).unwrap_or_default();
        let record = EpochRecord {
            epoch: p.epoch + 1,
            train: self.metrics.values(p.loss_sum / batches, &sums, samples),
            validation,
            test,
            monitor: self.monitor.name.clone(),
            best: if improved { now } else { before },
            samples_per_second: samples / p.train_seconds.max(f64::MIN_POSITIVE),
            seconds: p.train_seconds + tested.elapsed().as_secs_f64(),
        };
        *p = Progress {
            step: p.step,
            epoch: p.epoch + 1,
            seconds: self.earlier + self.started.elapsed().as_secs_f64(),
            history: std::mem::take(&mut p.history),
            ranks: p.ranks,
            peak_bytes: p.peak_bytes,
            ..Progress::default()
        };
        self.own = EpochSums::new(&self.metrics);
        self.resumed = EpochSums::new(&self.metrics);
        self.progress.history.push(record.clone());
        if let Some(logs) = &mut self.logs {
            for (name, value) in record.values() {
                if let Some(value) = value {
                    let tag = format!("{EPOCH_TAGS}{name}");
                    logs.curves
                        .add_scalar(&tag, self.progress.step, value as f32)?;
                }
            }
            logs.curves.flush()?;
            logs.epochs.append(&record)?;
        }
        if improved {
            self.save_best()?;
            if let Some(call) = &self.trainer.callbacks.improvement {
                call(self.evaluated_weights())?;
            }
        }
        if !self.together.leads() {
            // Rank 0 checks the weights, which are the same on all ranks.
        } else if self.logs.is_none() {
            // The weights are checked even if no files are written.
            self.look_at_weights()?;
        } else if self.progress.epoch == self.settings.epochs {
            self.save()?;
        } else {
            self.save_if_idle()?;
        }
        self.announce(&record);
        let call = self.trainer.callbacks.epoch.as_ref();
        let ends = call.is_some_and(|call| call(&record).is_break());
        // Rank 0 decides for all.
        self.stopped_early = self.together.agree(1 + usize::from(ends))? > 1;
        Ok(true)
    }

    /// Loss and metrics on one of the evaluated data sets, if it exists; `None` if the run was interrupted.
    fn evaluate(&mut self, which: Option<usize>) -> Result<Option<Option<MetricValues>>> {
        let Some(which) = which else {
            return Ok(Some(None));
        };
        let trainer = self.trainer;
        let stop = || trainer.is_end_requested();
        let found = self.evaluation.run(which, &self.together, stop)?;
        Ok(found.map(|found| Some(found.values())))
    }

    fn announce(&self, record: &EpochRecord) {
        let metric = self.monitor.name.as_str();
        let value = |set: Option<&MetricValues>| set?.get(metric);
        self.console.say_wrapped(EpochLine {
            epoch: record.epoch,
            epochs: self.settings.epochs,
            metric,
            loss: record.train.loss,
            train: value(Some(&record.train)),
            validation: value(record.validation.as_ref()),
            test: value(record.test.as_ref()),
            seconds: record.seconds,
        });
        let mut event = serde_json::json!(record);
        event["event"] = "epoch".into();
        self.console.say_json(&event);
    }
}
