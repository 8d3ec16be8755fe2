//! The one-cycle schedule.

use super::{Schedule, fraction};
use spikelet_schema::Schema;
use std::f64::consts::PI;

/// One cycle over all epochs: the learning rate is the maximum. Half a cosine from 1/`div_factor` up to 1, then half a
/// cosine down to 1/(`div_factor` · `final_div_factor`).
///
/// Source: Smith & Topin, Super-Convergence, 2018; the constants and defaults are those of PyTorch's `OneCycleLR`, whose phases end
/// one step earlier.
///
/// ```
/// use spikelet_train::optim::LrSchedule;
/// use spikelet_train::optim::schedule::OneCycle;
/// let schedule = LrSchedule::from(OneCycle { pct_start: 0.25, ..OneCycle::default() });
/// assert_eq!(schedule.factor(0.0, 40.0), 1.0 / 25.0);
/// assert_eq!(schedule.factor(10.0, 40.0), 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct OneCycle {
    /// The fraction of the epochs in which the learning rate grows.
    #[schema(default = 0.3, from = 0, below = 1)]
    pub pct_start: f64,
    /// The maximum over the rate at the beginning.
    #[schema(default = 25.0, at_least = 1)]
    pub div_factor: f64,
    /// The rate at the beginning over the rate at the end.
    #[schema(default = 1e4, at_least = 1)]
    pub final_div_factor: f64,
}

impl Schedule for OneCycle {
    fn factor(&self, epoch: f64, epochs: f64, _: &[f64]) -> f64 {
        let (part, first) = (fraction(epoch, epochs), 1.0 / self.div_factor);
        match part < self.pct_start {
            true => cosine_between(first, 1.0, part / self.pct_start),
            false => {
                let part = (part - self.pct_start) / (1.0 - self.pct_start);
                cosine_between(1.0, first / self.final_div_factor, part)
            }
        }
    }

    fn depends_on_epochs(&self) -> bool {
        true
    }
}

/// Half a cosine from `first` to `last`, for a part from 0 to 1.
fn cosine_between(first: f64, last: f64, part: f64) -> f64 {
    let share = 0.5 * (1.0 + (PI * part).cos());
    share * first + (1.0 - share) * last
}
