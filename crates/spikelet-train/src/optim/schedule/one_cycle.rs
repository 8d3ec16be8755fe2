//! The one-cycle schedule.

use super::cosine_between;
use serde::{Deserialize, Serialize};
use spikelet_nn::{Constant, Domain};

/// One cycle over all epochs: the learning rate is the maximum. Half a cosine from 1/`div_factor` up to 1, then half a
/// cosine down to 1/(`div_factor` · `final_div_factor`).
///
/// Source: Smith & Topin, Super-Convergence, 2018; the constants are those of PyTorch's `OneCycleLR`, whose phases end
/// one step earlier.
///
/// ```
/// use spikelet_train::optim::{LrSchedule, OneCycle};
/// let schedule = LrSchedule::OneCycle(OneCycle { pct_start: 0.25, ..OneCycle::default() });
/// assert_eq!(schedule.factor(0.0, 40.0), 1.0 / 25.0);
/// assert_eq!(schedule.factor(10.0, 40.0), 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OneCycle {
    /// The fraction of the epochs in which the learning rate grows, at least 0 and below 1.
    pub pct_start: f64,
    /// The maximum over the rate at the beginning, at least 1.
    pub div_factor: f64,
    /// The rate at the beginning over the rate at the end, at least 1.
    pub final_div_factor: f64,
}

impl Default for OneCycle {
    /// PyTorch's defaults.
    fn default() -> Self {
        Self {
            pct_start: 0.3,
            div_factor: 25.0,
            final_div_factor: 1e4,
        }
    }
}

impl OneCycle {
    pub(super) fn domains(&self) -> Vec<Constant> {
        let at_least_one = Domain::at_least(1.0);
        vec![
            Constant::new(
                "pct_start",
                self.pct_start,
                Domain::at_least(0.0).below(1.0),
            ),
            Constant::new("div_factor", self.div_factor, at_least_one),
            Constant::new("final_div_factor", self.final_div_factor, at_least_one),
        ]
    }

    pub(super) fn factor(&self, part: f64) -> f64 {
        let first = 1.0 / self.div_factor;
        match part < self.pct_start {
            true => cosine_between(first, 1.0, part / self.pct_start),
            false => {
                let part = (part - self.pct_start) / (1.0 - self.pct_start);
                cosine_between(1.0, first / self.final_div_factor, part)
            }
        }
    }
}
