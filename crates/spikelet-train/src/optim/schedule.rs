//! Learning-rate schedules.

use serde::{Deserialize, Serialize};
use spikelet_core::{Error, Result};
use spikelet_nn::domain::{self, Constant, Domain};
use std::f64::consts::PI;

/// The factor of the learning rate as a function of the epoch.
///
/// ```
/// use spikelet_train::optim::LrSchedule;
/// let cosine = LrSchedule::Cosine { min_factor: 0.0 };
/// assert_eq!(cosine.factor(0.0, 64.0), 1.0);
/// assert!((cosine.factor(32.0, 64.0) - 0.5).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LrSchedule {
    /// A constant rate.
    #[default]
    Constant,
    /// The rate is multiplied by `gamma` after every `epochs` epochs.
    Step {
        /// The number of epochs between two changes.
        epochs: f64,
        /// The factor.
        gamma: f64,
    },
    /// Cosine annealing from the initial rate to `min_factor` times the rate.
    Cosine {
        /// The factor at the end.
        min_factor: f64,
    },
    /// Cosine annealing over the first epochs, then `min_factor` times the rate: [`LrSchedule::Cosine`] with
    /// its own length (PyTorch's `T_max`).
    CosineOver {
        /// The length of the cosine in epochs.
        epochs: f64,
        /// The factor after the cosine.
        min_factor: f64,
    },
    /// Linear growth over the first epochs, then another schedule.
    WarmUp {
        /// The length of the growth in epochs.
        epochs: f64,
        /// The schedule after the warm-up.
        then: Box<LrSchedule>,
    },
}

impl LrSchedule {
    /// The name, as on the command line. [`LrSchedule::CosineOver`] has the name of the cosine.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Step { .. } => "step",
            Self::Cosine { .. } | Self::CosineOver { .. } => "cosine",
            Self::WarmUp { .. } => "warm-up",
        }
    }

    /// The domains of the constants of the schedule and of the schedules in it.
    pub fn domains(&self) -> Vec<Constant> {
        let some = Domain::above(0.0);
        let share = Domain::at_least(0.0).at_most(1.0);
        match self {
            Self::Constant => vec![],
            Self::Step { epochs, gamma } => vec![
                Constant::new("epochs", *epochs, some),
                Constant::new("gamma", *gamma, some),
            ],
            Self::Cosine { min_factor } => vec![Constant::new("min_factor", *min_factor, share)],
            Self::CosineOver { epochs, min_factor } => vec![
                Constant::new("epochs", *epochs, some),
                Constant::new("min_factor", *min_factor, share),
            ],
            Self::WarmUp { epochs, then } => {
                let own = vec![Constant::new("epochs", *epochs, some)];
                [own, then.domains()].concat()
            }
        }
    }

    /// Checks that the constants are in their domains.
    ///
    /// # Errors
    /// [`Error::Invalid`] for the first constant outside its domain.
    pub fn check(&self) -> Result<()> {
        domain::check(&self.domains(), "the schedule")
            .map_err(|error| Error::invalid("schedule", error.to_string(), domain::HELP))
    }

    /// The factor of the learning rate after `epoch` of `epochs` epochs; both may be fractions.
    pub fn factor(&self, epoch: f64, epochs: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Step {
                epochs: size,
                gamma,
            } => gamma.powf((epoch / size.max(f64::MIN_POSITIVE)).floor()),
            Self::Cosine { min_factor } => cosine(epoch, epochs, *min_factor),
            Self::CosineOver {
                epochs: length,
                min_factor,
            } => cosine(epoch, *length, *min_factor),
            Self::WarmUp { epochs: size, then } => {
                if epoch < *size {
                    epoch / size
                } else {
                    then.factor(epoch - size, epochs - size)
                }
            }
        }
    }
}

/// Cosine annealing from 1 to `min_factor`, constant afterwards.
fn cosine(epoch: f64, epochs: f64, min_factor: f64) -> f64 {
    let part = (epoch / epochs.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    min_factor + (1.0 - min_factor) * 0.5 * (1.0 + (PI * part).cos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cosine_of_its_own_length_ends_before_the_training() {
        let whole = LrSchedule::Cosine { min_factor: 0.1 };
        let half = LrSchedule::CosineOver {
            epochs: 32.0,
            min_factor: 0.1,
        };
        for epoch in [0.0, 3.5, 16.0, 32.0] {
            assert_eq!(half.factor(epoch, 64.0), whole.factor(epoch, 32.0));
        }
        assert_eq!(half.factor(50.0, 64.0), half.factor(32.0, 64.0));
        assert!(whole.factor(50.0, 64.0) > half.factor(50.0, 64.0));
    }
}
