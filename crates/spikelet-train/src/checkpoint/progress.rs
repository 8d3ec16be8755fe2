//! The progress of a run and the results of its epochs.

use super::error::CheckpointProblem;
use super::{DatasetId, Settings};
use crate::optim::LrSchedule;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt::Display;

/// The results of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// Mean loss of the training batches.
    pub train_loss: f64,
    /// The fraction of training images that were classified correctly, measured during training.
    pub train_accuracy: f64,
    /// Mean loss of the validation images, if there are any.
    pub validation_loss: Option<f64>,
    /// The fraction of validation images that are classified correctly, if there are any.
    pub validation_accuracy: Option<f64>,
    /// Mean loss of the test set.
    #[serde(deserialize_with = "number_or_nan")]
    pub test_loss: f64,
    /// The fraction of test images that are classified correctly.
    pub test_accuracy: f64,
    /// The best validation accuracy so far, if there are validation images.
    pub best_validation_accuracy: Option<f64>,
    /// Training images per second.
    pub images_per_second: f64,
    /// Seconds of this epoch, evaluation included.
    pub seconds: f64,
}

/// JSON has no NaN or infinity: such a loss is written as null.
fn number_or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
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
    /// The number of completed images of this epoch, over all ranks: the index of the first image of the next
    /// batch, also with another number of ranks.
    pub images: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// The sum of the mean losses of the completed batches of this epoch, over all ranks.
    pub loss_sum: f64,
    /// The number of correct images in these batches.
    pub correct: f64,
    /// The seconds of these batches.
    pub train_seconds: f64,
    /// The seconds of the run.
    pub seconds: f64,
    /// The completed epochs.
    pub history: Vec<EpochRecord>,
}

impl Progress {
    /// The number of completed batches of this size in the current epoch, over all ranks; at least 1.
    pub(crate) fn batches_of_ranks(&self, batch_size: usize) -> f64 {
        (self.images / batch_size.max(1)).max(1) as f64
    }

    /// The first epoch with the best validation accuracy; `None` without validation images.
    pub fn best(&self) -> Option<&EpochRecord> {
        best_of(&self.history)
    }

    /// The metric of each completed epoch that [`LrSchedule::Plateau`] monitors: the loss, or with `maximize` the
    /// accuracy, of the validation images, or without them of the training images. Empty for other schedules.
    pub fn monitored(&self, schedule: &LrSchedule) -> Vec<f64> {
        let Some(plateau) = schedule.plateau() else {
            return vec![];
        };
        let metric = |record: &EpochRecord| match (plateau.maximize, record.validation_accuracy) {
            (true, Some(accuracy)) => accuracy,
            (true, None) => record.train_accuracy,
            // A loss that is not finite is missing in a resumed run, because JSON has no such numbers.
            (false, Some(_)) => (record.validation_loss)
                .filter(|loss| loss.is_finite())
                .unwrap_or(f64::NAN),
            (false, None) => record.train_loss,
        };
        self.history.iter().map(metric).collect()
    }

    /// Checks that the progress is possible for these settings and data.
    pub(super) fn check(
        &self,
        settings: &Settings,
        dataset: &DatasetId,
    ) -> Result<(), CheckpointProblem> {
        let images = dataset.train_images;
        let batch_size = settings.batch_size;
        let most_ranks = images / batch_size;
        number("progress.ranks", self.ranks, 1, most_ranks)?;
        number("progress.epoch", self.epoch, 0, settings.epochs)?;
        let epochs = self.history.len();
        number(
            "number of epochs in the history",
            epochs,
            self.epoch,
            self.epoch,
        )?;
        let most_images = match self.epoch == settings.epochs {
            true => 0,
            false => images,
        };
        number("progress.images", self.images, 0, most_images)?;
        // A step had one batch per rank. If the number of ranks has changed, the number of batches is not
        // known exactly.
        let most_batches = self.images / batch_size;
        number(
            "progress.batch",
            self.batch,
            usize::from(self.images > 0),
            most_batches,
        )?;
        if !self.images.is_multiple_of(batch_size) {
            return Err(wrong(
                "progress.images",
                self.images,
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
        let most = self.images as f64;
        number("progress.correct", self.correct, 0.0, most)?;
        number("progress.loss_sum", self.loss_sum, f64::MIN, f64::MAX)?;
        let seconds = [
            ("progress.train_seconds", self.train_seconds),
            ("progress.seconds", self.seconds),
        ];
        for (field, found) in seconds {
            number(field, found, 0.0, f64::MAX)?;
        }
        let validated = dataset.validation_images > 0;
        for (k, record) in self.history.iter().enumerate() {
            record.check(k + 1, validated)?;
        }
        Ok(())
    }
}

impl EpochRecord {
    fn check(&self, epoch: usize, validated: bool) -> Result<(), CheckpointProblem> {
        let field = |name: &str| format!("{name} of epoch {epoch}");
        number(&field("number"), self.epoch, epoch, epoch)?;
        number(&field("train_loss"), self.train_loss, f64::MIN, f64::MAX)?;
        let shares = [
            ("train_accuracy", Some(self.train_accuracy)),
            ("test_accuracy", Some(self.test_accuracy)),
            ("validation_accuracy", self.validation_accuracy),
            ("best_validation_accuracy", self.best_validation_accuracy),
        ];
        for (name, share) in shares {
            match share {
                Some(share) => number(&field(name), share, 0.0, 1.0)?,
                None if validated => return Err(wrong(&field(name), "null", "a share of 1")),
                None => {}
            }
        }
        Ok(())
    }
}

/// The first epoch with the best validation accuracy.
pub(crate) fn best_of(history: &[EpochRecord]) -> Option<&EpochRecord> {
    let mut best: Option<(&EpochRecord, f64)> = None;
    for record in history {
        let Some(accuracy) = record.validation_accuracy else {
            continue;
        };
        if best.is_none_or(|(_, before)| accuracy > before) {
            best = Some((record, accuracy));
        }
    }
    best.map(|(record, _)| record)
}

fn wrong(field: &str, found: impl Display, expected: impl Display) -> CheckpointProblem {
    CheckpointProblem::Progress {
        field: field.to_string(),
        found: found.to_string(),
        expected: expected.to_string(),
    }
}

/// Checks that a value is from `least` to `most`; NaN is an error.
fn number<T: PartialOrd + Display>(
    field: &str,
    found: T,
    least: T,
    most: T,
) -> Result<(), CheckpointProblem> {
    if found >= least && found <= most {
        return Ok(());
    }
    let expected = match least == most {
        true => least.to_string(),
        false => format!("a number from {least} to {most}"),
    };
    Err(wrong(field, found, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(epoch: usize, accuracy: f64) -> EpochRecord {
        EpochRecord {
            epoch,
            train_loss: 0.5,
            train_accuracy: 0.5,
            validation_loss: Some(0.5),
            validation_accuracy: Some(accuracy),
            test_loss: 0.5,
            test_accuracy: 0.5,
            best_validation_accuracy: Some(accuracy),
            images_per_second: 1.0,
            seconds: 1.0,
        }
    }

    /// In the second of three epochs: 900 images, in steps of 2 × 16.
    fn half_way() -> (Progress, Settings, DatasetId) {
        let progress = Progress {
            step: 28 + 5,
            epoch: 1,
            batch: 5,
            images: 5 * 32,
            ranks: 2,
            loss_sum: 2.5,
            correct: 80.0,
            train_seconds: 1.0,
            seconds: 3.0,
            history: vec![record(1, 0.5)],
        };
        let settings = Settings {
            epochs: 3,
            batch_size: 16,
            ..Settings::default()
        };
        let dataset = DatasetId {
            name: "digits".to_string(),
            train_images: 900,
            validation_images: 100,
            test_images: 10,
            sha256: String::new(),
        };
        (progress, settings, dataset)
    }

    #[test]
    fn only_progress_that_a_run_can_have_is_accepted() {
        let (sound, settings, dataset) = half_way();
        assert_eq!(sound.check(&settings, &dataset), Ok(()));
        // All batches are done, and the evaluation is next.
        let mut done = Progress {
            step: 28 + 28,
            batch: 28,
            images: 28 * 32,
            ..sound.clone()
        };
        assert_eq!(done.check(&settings, &dataset), Ok(()));
        done.batch = 2 * 28 + 1;
        assert!(done.check(&settings, &dataset).is_err());
        type Change = fn(&mut Progress);
        let changes: [(&str, Change); 20] = [
            ("progress.ranks", |p| p.ranks = 0),
            ("progress.ranks", |p| p.ranks = 57),
            ("progress.epoch", |p| p.epoch = 4),
            ("progress.epoch", |p| p.epoch = 1 << 31),
            ("number of epochs in the history", |p| p.history.clear()),
            ("number of epochs in the history", |p| p.epoch = 2),
            ("progress.images", |p| p.images = 904),
            ("progress.images", |p| p.images = 17),
            ("progress.images", |p| p.images = usize::MAX),
            ("progress.batch", |p| p.batch = 0),
            ("progress.batch", |p| p.batch = 1 << 62),
            ("progress.step", |p| p.step = 1 << 62),
            ("progress.step", |p| p.step = 5),
            ("progress.correct", |p| p.correct = 161.0),
            ("progress.correct", |p| p.correct = f64::NAN),
            ("progress.loss_sum", |p| p.loss_sum = f64::INFINITY),
            ("progress.seconds", |p| p.seconds = -1.0),
            ("number of epoch 1", |p| p.history[0].epoch = 2),
            ("test_accuracy of epoch 1", |p| {
                p.history[0].test_accuracy = 1.5
            }),
            ("validation_accuracy of epoch 1", |p| {
                p.history[0].validation_accuracy = None;
            }),
        ];
        for (expected, change) in changes {
            let mut progress = sound.clone();
            change(&mut progress);
            match progress.check(&settings, &dataset) {
                // A batch that does not go with the images is found by either.
                Err(CheckpointProblem::Progress { field, .. }) => assert!(
                    field == expected
                        || (expected, &field[..]) == ("progress.images", "progress.batch"),
                    "{expected}: {field}"
                ),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_best_epoch_is_the_first_with_the_best_validation_accuracy() {
        let history = [record(1, 0.5), record(2, 0.75), record(3, 0.75)];
        assert_eq!(best_of(&history).map(|r| r.epoch), Some(2));
        let without = EpochRecord {
            validation_accuracy: None,
            ..record(1, 0.0)
        };
        assert_eq!(best_of(&[without]), None);
    }
}
