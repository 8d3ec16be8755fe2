//! The end of an epoch: the evaluation, the epoch's record in logs and curves, and checkpoints.

use super::super::checkpoint::EpochRecord;
use super::{EpochSums, Progress, Run};
use crate::Evaluation;
use crate::log::EpochLine;
use spikelet_core::Result;
use std::time::Instant;

/// The indices of the evaluated data sets.
const TEST: usize = 0;
const VALIDATION: usize = 1;

impl Run<'_> {
    /// Evaluates the network and begins the next epoch; false if the run was interrupted before the evaluation. The
    /// progress is then that of the last batch of the epoch: a resumed run begins with the evaluation.
    pub(super) fn end_epoch(&mut self) -> Result<bool> {
        let tested = Instant::now();
        let (parameters, buffers) = (self.engine.parameters(), self.engine.buffers());
        self.together.follow_the_first(&mut self.store, &buffers)?;
        self.together.check_same_weights(&self.store, &parameters)?;
        let Some(test) = self.evaluate(TEST)? else {
            return Ok(false);
        };
        let validated = match self.validates {
            true => {
                let found = self.evaluate(VALIDATION)?;
                if found.is_none() {
                    return Ok(false);
                }
                found
            }
            false => None,
        };
        let validation_accuracy = validated.map(|v| v.accuracy);
        let p = &mut self.progress;
        let batches = p.batches_of_ranks(self.trainer.settings.batch_size);
        let images = p.images.max(1) as f64;
        let best_before = p.best().and_then(|record| record.validation_accuracy);
        let best = best_before.into_iter().chain(validation_accuracy);
        let record = EpochRecord {
            epoch: p.epoch + 1,
            train_loss: p.loss_sum / batches,
            train_accuracy: p.correct / images,
            validation_loss: validated.map(|v| v.loss),
            validation_accuracy,
            test_loss: test.loss,
            test_accuracy: test.accuracy,
            best_validation_accuracy: best.reduce(f64::max),
            images_per_second: images / p.train_seconds.max(f64::MIN_POSITIVE),
            seconds: p.train_seconds + tested.elapsed().as_secs_f64(),
        };
        let improved = match (validation_accuracy, best_before) {
            (Some(now), Some(before)) => now > before,
            (now, None) => now.is_some(),
            (None, _) => false,
        };
        *p = Progress {
            step: p.step,
            epoch: p.epoch + 1,
            seconds: self.earlier + self.started.elapsed().as_secs_f64(),
            history: std::mem::take(&mut p.history),
            ranks: p.ranks,
            ..Progress::default()
        };
        self.own = EpochSums::default();
        self.resumed = EpochSums::default();
        self.progress.history.push(record.clone());
        if let Some(logs) = &mut self.logs {
            let scalars = [
                ("epoch/train_loss", Some(record.train_loss)),
                ("epoch/train_accuracy", Some(record.train_accuracy)),
                ("epoch/validation_loss", record.validation_loss),
                ("epoch/validation_accuracy", record.validation_accuracy),
                ("epoch/test_loss", Some(record.test_loss)),
                ("epoch/test_accuracy", Some(record.test_accuracy)),
            ];
            for (tag, value) in scalars {
                if let Some(value) = value {
                    logs.curves
                        .add_scalar(tag, self.progress.step, value as f32)?;
                }
            }
            logs.curves.flush()?;
            logs.epochs.append(&record)?;
        }
        if improved {
            self.save_best()?;
        }
        if !self.together.leads() {
            // Rank 0 checks the weights, which are the same on all ranks.
        } else if self.logs.is_none() {
            // The weights are checked even if no files are written.
            self.look_at_weights()?;
        } else if self.progress.epoch == self.trainer.settings.epochs {
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

    /// Accuracy and mean loss on one of the evaluated data sets; `None` if the run was interrupted.
    fn evaluate(&mut self, which: usize) -> Result<Option<Evaluation>> {
        let trainer = self.trainer;
        let stop = || trainer.is_end_requested();
        self.evaluation.run(which, &self.together, stop)
    }

    fn announce(&self, record: &EpochRecord) {
        self.console.say(EpochLine {
            epoch: record.epoch,
            epochs: self.trainer.settings.epochs,
            loss: record.train_loss,
            train_accuracy: record.train_accuracy,
            test_loss: Some(record.test_loss),
            test_accuracy: Some(record.test_accuracy),
            validation_accuracy: record.validation_accuracy,
            best_accuracy: record.best_validation_accuracy,
            images_per_second: record.images_per_second,
            seconds: record.seconds,
        });
        let mut event = serde_json::json!(record);
        event["event"] = "epoch".into();
        self.console.say_json(&event);
    }
}
