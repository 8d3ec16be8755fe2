//! The progress of a run.

use super::error::CheckpointProblem;
use super::range::{number, wrong};
use super::record::{EpochRecord, best_of};
use crate::metric::MetricValues;
use crate::optim::LrSchedule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The numbers of a run that limit its progress.
pub(super) struct RunSize {
    pub(super) epochs: usize,
    pub(super) batch_size: usize,
    /// The number of training samples of an epoch.
    pub(super) samples: usize,
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The number of completed training steps.
    pub step: u64,
    /// The current epoch, counted from 0.
    pub epoch: usize,
    /// The next batch of this epoch, over all ranks.
    pub batch: usize,
    /// The number of completed samples of this epoch, over all ranks: the index of the first sample of the next
    /// batch, also with another number of ranks.
    pub samples: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// The sum of the mean losses of the completed batches of this epoch, over all ranks.
    pub loss_sum: f64,
    /// The sums of each metric over these batches.
    pub sums: BTreeMap<String, Vec<f64>>,
    /// The seconds of these batches.
    pub train_seconds: f64,
    /// The seconds of the run.
    pub seconds: f64,
    /// Memory that training and evaluation use on the device, in bytes.
    #[serde(default)]
    pub peak_bytes: usize,
    /// The completed epochs.
    pub history: Vec<EpochRecord>,
}

/// The longest time of a run: 30 years.
const MOST_SECONDS: f64 = 1e9;

impl Progress {
    /// The number of completed batches of this size in the current epoch, over all ranks; at least 1.
    pub(crate) fn batches_of_ranks(&self, batch_size: usize) -> f64 {
        (self.samples / batch_size.max(1)).max(1) as f64
    }

    /// The first epoch with the best value of the monitored metric on the validation set; `None` without one.
    pub fn best(&self) -> Option<&EpochRecord> {
        best_of(&self.history)
    }

    /// Adds the values of the validation set to records that have none: they were not finite, which JSON does not
    /// have.
    pub(super) fn restore_validation(&mut self) {
        for record in &mut self.history {
            let missing = record.train.iter().skip(1);
            let missing = missing.map(|(name, _)| (name, f64::NAN));
            let missing = MetricValues::new(f64::NAN, missing);
            record.validation.get_or_insert(missing);
        }
    }

    /// The value of each completed epoch that [`Plateau`](crate::optim::schedule::Plateau) monitors: `metric` on the validation set, or
    /// without one on the training batches. Empty for other schedules.
    pub fn monitored(&self, schedule: &LrSchedule, metric: &str) -> Vec<f64> {
        if schedule.plateau().is_none() {
            return vec![];
        }
        let value = |record: &EpochRecord| {
            let set = record.validation.as_ref().unwrap_or(&record.train);
            // A value that is not finite is missing in a resumed run, because JSON has no such numbers.
            let value = set.get(metric).filter(|value| value.is_finite());
            value.unwrap_or(f64::NAN)
        };
        self.history.iter().map(value).collect()
    }

    /// Checks that the progress is possible for a run of this size.
    pub(super) fn check(&self, size: &RunSize) -> Result<(), CheckpointProblem> {
        let RunSize {
            epochs,
            batch_size,
            samples,
        } = *size;
        if batch_size > samples {
            return Err(wrong(
                "training.batch_size",
                batch_size,
                format!("at most {samples}, the number of training samples"),
            ));
        }
        let most_ranks = samples / batch_size.max(1);
        if most_ranks == 0 {
            let expected = format!("at most the number of training samples, {samples}");
            return Err(wrong("batch size", batch_size, expected));
        }
        number("progress.ranks", self.ranks, 1, most_ranks)?;
        number("progress.epoch", self.epoch, 0, epochs)?;
        number(
            "number of epochs in the history",
            self.history.len(),
            self.epoch,
            self.epoch,
        )?;
        let most_samples = match self.epoch == epochs {
            true => 0,
            false => samples,
        };
        number("progress.samples", self.samples, 0, most_samples)?;
        // A step had one batch per rank. If the number of ranks has changed, the number of batches is not
        // known exactly.
        let most_batches = self.samples / batch_size.max(1);
        number(
            "progress.batch",
            self.batch,
            usize::from(self.samples > 0),
            most_batches,
        )?;
        if !self.samples.is_multiple_of(batch_size) {
            return Err(wrong(
                "progress.samples",
                self.samples,
                format!("a multiple of the batch size, {batch_size}"),
            ));
        }
        let least = self.epoch.saturating_add(self.batch) as u64;
        let most = (self.epoch as u64).saturating_mul(most_ranks as u64);
        number(
            "progress.step",
            self.step,
            least,
            most.saturating_add(self.batch as u64),
        )?;
        for (name, sums) in &self.sums {
            let (least, most) = match name.as_str() {
                "accuracy" => (0.0, self.samples as f64),
                _ => (f64::MIN, f64::MAX),
            };
            let field = format!("progress.sums.{name}");
            sums.iter()
                .try_for_each(|sum| number(&field, *sum, least, most))?;
        }
        // A loss is a number of 32 bits.
        let most_loss = f64::from(f32::MAX) * self.samples.max(1) as f64;
        number("progress.loss_sum", self.loss_sum, -most_loss, most_loss)?;
        let seconds = [
            ("progress.train_seconds", self.train_seconds),
            ("progress.seconds", self.seconds),
        ];
        for (field, found) in seconds {
            number(field, found, 0.0, MOST_SECONDS)?;
        }
        for (k, record) in self.history.iter().enumerate() {
            let epoch = k + 1;
            number(
                &format!("number of epoch {epoch}"),
                record.epoch,
                epoch,
                epoch,
            )?;
            record.check()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(epoch: usize, accuracy: f64) -> EpochRecord {
        let values = |accuracy| MetricValues::new(0.5, [("accuracy", accuracy)]);
        EpochRecord {
            epoch,
            train: values(0.5),
            validation: Some(values(accuracy)),
            test: Some(values(0.5)),
            monitor: "accuracy".to_string(),
            best: Some(accuracy),
            samples_per_second: 1.0,
            seconds: 1.0,
        }
    }

    /// In the second of three epochs: 900 samples, in steps of 2 × 16.
    fn half_way() -> (Progress, RunSize) {
        let progress = Progress {
            step: 28 + 5,
            epoch: 1,
            batch: 5,
            samples: 5 * 32,
            ranks: 2,
            loss_sum: 2.5,
            sums: BTreeMap::from([("accuracy".to_string(), vec![80.0])]),
            train_seconds: 1.0,
            seconds: 3.0,
            peak_bytes: 1 << 20,
            history: vec![record(1, 0.5)],
        };
        let size = RunSize {
            epochs: 3,
            batch_size: 16,
            samples: 900,
        };
        (progress, size)
    }

    #[test]
    fn only_progress_that_a_run_can_have_is_accepted() {
        let (sound, size) = half_way();
        assert_eq!(sound.check(&size), Ok(()));
        // All batches are done, and the evaluation is next.
        let mut done = Progress {
            step: 28 + 28,
            batch: 28,
            samples: 28 * 32,
            ..sound.clone()
        };
        assert_eq!(done.check(&size), Ok(()));
        done.batch = 2 * 28 + 1;
        assert!(done.check(&size).is_err());
        type Change = fn(&mut Progress);
        fn accuracy(progress: &mut Progress, sum: f64) {
            progress.sums.insert("accuracy".to_string(), vec![sum]);
        }
        let changes: [(&str, Change); 23] = [
            ("progress.ranks", |p| p.ranks = 0),
            ("progress.ranks", |p| p.ranks = 57),
            ("progress.epoch", |p| p.epoch = 4),
            ("progress.epoch", |p| p.epoch = 1 << 31),
            ("number of epochs in the history", |p| p.history.clear()),
            ("number of epochs in the history", |p| p.epoch = 2),
            ("progress.samples", |p| p.samples = 904),
            ("progress.samples", |p| p.samples = 17),
            ("progress.samples", |p| p.samples = usize::MAX),
            ("progress.batch", |p| p.batch = 0),
            ("progress.batch", |p| p.batch = 1 << 62),
            ("progress.step", |p| p.step = 1 << 62),
            ("progress.step", |p| p.step = 5),
            ("progress.sums.accuracy", |p| accuracy(p, 161.0)),
            ("progress.sums.accuracy", |p| accuracy(p, f64::NAN)),
            ("progress.loss_sum", |p| p.loss_sum = f64::INFINITY),
            ("progress.loss_sum", |p| p.loss_sum = -1e308),
            ("progress.train_seconds", |p| p.train_seconds = 1e308),
            ("progress.seconds", |p| p.seconds = 1e308),
            ("progress.seconds", |p| p.seconds = -1.0),
            ("number of epoch 1", |p| p.history[0].epoch = 2),
            ("test_accuracy of epoch 1", |p| {
                p.history[0].test = Some(MetricValues::new(0.5, [("accuracy", 1.5)]));
            }),
            ("validation_accuracy of epoch 1", |p| {
                p.history[0].validation = Some(MetricValues::new(0.5, [("accuracy", f64::NAN)]));
            }),
        ];
        for (expected, change) in changes {
            let mut progress = sound.clone();
            change(&mut progress);
            match progress.check(&size) {
                // A batch that does not go with the images is found by either.
                Err(CheckpointProblem::Progress { field, .. }) => assert!(
                    field == expected
                        || (expected, &field[..]) == ("progress.samples", "progress.batch"),
                    "{expected}: {field}"
                ),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_batch_of_more_samples_than_there_are_is_named() {
        let (sound, mut size) = half_way();
        size.batch_size = 1_000_000_000;
        let problem = sound.check(&size).expect_err("too large").to_string();
        assert_eq!(
            problem,
            "its training.batch_size is 1000000000, expected at most 900, the number of training samples"
        );
    }

    #[test]
    fn the_best_epoch_is_the_first_with_the_best_validation_accuracy() {
        let history = [record(1, 0.5), record(2, 0.75), record(3, 0.75)];
        assert_eq!(best_of(&history).map(|r| r.epoch), Some(2));
        let without = EpochRecord {
            validation: None,
            best: None,
            ..record(1, 0.0)
        };
        assert_eq!(best_of(&[without]), None);
    }
}
