//! Whether a run learned anything: accuracies against guessing, losses against the first one.

use super::Evidence;
use crate::checkpoint::EpochRecord;
use crate::metric::MetricValues;

/// The number of standard deviations by which an accuracy is above that of guessing.
const DEVIATIONS: f64 = 4.0;

/// The fewest evaluated samples from which an accuracy is compared with guessing.
const FEWEST: usize = 100;

/// A data set of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Train,
    Validation,
    Test,
}

impl Set {
    /// The values of the set in an epoch.
    pub(super) fn of(self, record: &EpochRecord) -> Option<&MetricValues> {
        match self {
            Self::Train => Some(&record.train),
            Self::Validation => record.validation.as_ref(),
            Self::Test => record.test.as_ref(),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Train => "training",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

impl Evidence {
    pub(super) fn samples(&self, set: Set) -> usize {
        match set {
            Set::Train => self.run.train_samples,
            Set::Validation => self.run.validation_samples,
            Set::Test => self.run.test_samples,
        }
    }

    /// The accuracy of guessing one of the classes.
    pub(super) fn guessing(&self) -> Option<f64> {
        let classes = self.run.classes.filter(|classes| *classes > 1)?;
        Some(1.0 / classes as f64)
    }

    /// The accuracies of a set in all epochs.
    pub(super) fn accuracies(&self, set: Set) -> Vec<f64> {
        let each = self.history.iter().filter_map(|record| set.of(record));
        each.filter_map(|values| values.get("accuracy"))
            .filter(|value| value.is_finite())
            .collect()
    }

    /// The losses on a set in all epochs.
    pub(super) fn losses(&self, set: Set) -> Vec<f64> {
        let each = self.history.iter().filter_map(|record| set.of(record));
        each.map(|values| values.loss)
            .filter(|loss| loss.is_finite())
            .collect()
    }

    /// The standard deviation of the accuracy of guessing on a set; `None` if it is not known or there are too few
    /// samples.
    pub(super) fn deviation_of_guessing(&self, set: Set) -> Option<f64> {
        let (chance, samples) = (self.guessing()?, self.samples(set));
        let deviation = (chance * (1.0 - chance) / samples.max(1) as f64).sqrt();
        (samples >= FEWEST).then_some(deviation)
    }

    /// The largest accuracy that guessing may have on a set.
    fn most_of_guessing(&self, set: Set) -> Option<f64> {
        Some(self.guessing()? + DEVIATIONS * self.deviation_of_guessing(set)?)
    }

    /// Whether the accuracy on a set never was above that of guessing, if that is known.
    pub(super) fn only_guesses(&self, set: Set) -> Option<bool> {
        let best = self.accuracies(set).into_iter().reduce(f64::max)?;
        Some(best <= self.most_of_guessing(set)?)
    }

    /// Whether the accuracy on a set is that of guessing after the last epoch, if that is known.
    fn guesses_at_end(&self, set: Set) -> Option<bool> {
        let last = self.accuracies(set).last().copied()?;
        Some(last <= self.most_of_guessing(set)?)
    }

    /// The set other than the training set that selects or reports: the larger one.
    pub(super) fn held_out(&self) -> Option<Set> {
        let sets = [Set::Test, Set::Validation].into_iter();
        let known = sets.filter(|set| {
            let last = self.history.last();
            last.is_some_and(|record| set.of(record).is_some())
        });
        known.max_by_key(|set| self.samples(*set))
    }

    /// The loss before the first update, or that of the first epoch.
    pub(super) fn first_loss(&self) -> Option<f64> {
        let probed = self.first_probe().map(|probe| probe.loss);
        let of_epoch = self.history.first().map(|record| record.train.loss);
        probed.or(of_epoch).filter(|loss| loss.is_finite())
    }

    /// The training loss of the last epoch.
    pub(super) fn last_loss(&self) -> Option<f64> {
        let last = self.history.last()?.train.loss;
        last.is_finite().then_some(last)
    }

    /// Whether the network works after the last epoch: an accuracy above that of guessing; without classes, or with few
    /// samples, a loss that fell by a tenth. `None` if that is not known.
    pub(super) fn works(&self) -> Option<bool> {
        if self.run.pretrained {
            return Some(true);
        }
        let sets = [Set::Train, Set::Validation, Set::Test];
        let guesses = sets.into_iter().map(|set| self.guesses_at_end(set));
        let guesses: Vec<bool> = guesses.flatten().collect();
        if !guesses.is_empty() {
            return Some(guesses.contains(&false));
        }
        let (first, last) = (self.first_loss()?, self.last_loss()?);
        Some(last < first - 0.1 * first.abs())
    }
}

/// The trend of a series in standard deviations of that of random numbers: below 0 if later values are smaller.
///
/// Source: Mann, Nonparametric tests against trend, Econometrica 13, 1945; the statistic S of Kendall's rank correlation
/// with time, with a continuity correction.
pub(super) fn trend(values: &[f64]) -> f64 {
    let pairs = (values.iter().enumerate())
        .flat_map(|(k, before)| values[k + 1..].iter().map(move |after| (before, after)));
    let signs = pairs.map(|(before, after)| match after.partial_cmp(before) {
        Some(order) => f64::from(order as i8),
        None => 0.0,
    });
    let sum: f64 = signs.sum();
    let n = values.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    if sum == 0.0 || deviation == 0.0 {
        return 0.0;
    }
    (sum - sum.signum()) / deviation
}

#[cfg(test)]
mod tests {
    use super::trend;

    #[test]
    fn trends_are_those_of_ranks() {
        // S = 10, variance 5 · 4 · 15 / 18.
        let rising = 9.0 / (300.0_f64 / 18.0).sqrt();
        assert_eq!(trend(&[1.0, 2.0, 4.0, 8.0, 9.0]), rising);
        assert_eq!(trend(&[9.0, 8.0, 4.0, 2.0, 1.0]), -rising);
        assert_eq!(trend(&[1.0, 2.0, 1.0]), 0.0);
        assert_eq!(trend(&[1.0, 1.0]), 0.0);
        assert_eq!(trend(&[]), 0.0);
        assert_eq!(trend(&[f64::NAN, 1.0]), 0.0);
    }
}
