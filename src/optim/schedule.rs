//! Learning-rate schedules.

use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// How the learning rate goes with training.
///
/// ```
/// use spikelet::optim::Schedule;
/// let cosine = Schedule::Cosine { least: 0.0 };
/// assert_eq!(cosine.factor(0.0, 64.0), 1.0);
/// assert!((cosine.factor(32.0, 64.0) - 0.5).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Schedule {
    /// The same throughout.
    #[default]
    Constant,
    /// Times `gamma` after every `epochs` epochs.
    Step {
        /// Epochs between two changes.
        epochs: f64,
        /// The factor.
        gamma: f64,
    },
    /// Half a cosine from the full rate to `least` of it.
    Cosine {
        /// The share of the rate that is left at the end.
        least: f64,
    },
    /// Linear growth over the first epochs, then another schedule for the rest.
    WarmUp {
        /// Epochs of growth.
        epochs: f64,
        /// What follows.
        then: Box<Schedule>,
    },
}

impl Schedule {
    /// The share of the learning rate after `epoch` epochs (fractions count) of `epochs`.
    pub fn factor(&self, epoch: f64, epochs: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Step {
                epochs: size,
                gamma,
            } => gamma.powf((epoch / size.max(f64::MIN_POSITIVE)).floor()),
            Self::Cosine { least } => {
                let part = (epoch / epochs.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
                least + (1.0 - least) * 0.5 * (1.0 + (PI * part).cos())
            }
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
