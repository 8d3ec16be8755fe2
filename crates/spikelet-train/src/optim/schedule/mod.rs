//! Learning-rate schedules.

use spikelet_schema::{Member, Record, Schema, members};
use std::fmt::Debug;
use std::sync::Arc;

members! {
    /// All learning-rate schedules.
    pub static SCHEDULES: dyn Schedule = "schedule" {
        constant: Constant;
        cosine: Cosine;
        exponential: Exponential;
        multi_step: MultiStep;
        one_cycle: OneCycle;
        plateau: Plateau;
        polynomial: Polynomial;
        step: Step;
    }
}

/// The factor of the learning rate as a function of the progress.
pub trait Schedule: Record + Debug + Send + Sync {
    /// The factor after `epoch` of `epochs` epochs; both may be fractions. `metrics` are the values of the monitored metric
    /// after each completed epoch.
    fn factor(&self, epoch: f64, epochs: f64, metrics: &[f64]) -> f64;

    /// Whether the factor depends on the number of epochs. Otherwise a run can be resumed with more epochs.
    fn depends_on_epochs(&self) -> bool {
        false
    }
}

/// A schedule of the learning rate, with a warm-up if wanted. The factor changes with each step, or after each epoch.
///
/// ```
/// use spikelet_train::optim::LrSchedule;
/// use spikelet_train::optim::schedule::Cosine;
/// let cosine = LrSchedule::from(Cosine::default());
/// assert_eq!(cosine.factor(0.0, 64.0), 1.0);
/// assert!((cosine.factor(32.0, 64.0) - 0.5).abs() < 1e-12);
/// let warmed = cosine.warm_up(4.0);
/// assert_eq!((warmed.factor(2.0, 68.0), warmed.factor(4.0, 68.0)), (0.5, 1.0));
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(name = "schedule")]
pub struct LrSchedule {
    /// The learning-rate schedule.
    #[schema(flatten)]
    pub shape: Member<dyn Schedule>,
    /// Linear growth before the schedule.
    #[schema(at_least = 0, unit = "epochs")]
    pub warm_up: f64,
    /// Whether the rate changes after each epoch instead of each step, as in PyTorch programs that call the scheduler after
    /// each epoch.
    pub per_epoch: bool,
}

impl<S: Schedule + 'static> From<S> for LrSchedule {
    fn from(shape: S) -> Self {
        Self {
            shape: Member(Arc::new(shape)),
            ..Self::default()
        }
    }
}

impl LrSchedule {
    /// Sets the number of epochs of linear growth before the schedule.
    #[must_use]
    pub fn warm_up(mut self, epochs: f64) -> Self {
        self.warm_up = epochs;
        self
    }

    /// The same schedule, evaluated at the beginning of each epoch: the rate is constant within an epoch.
    #[must_use]
    pub fn per_epoch(mut self) -> Self {
        self.per_epoch = true;
        self
    }

    /// The factor of the learning rate after `epoch` of `epochs` epochs; both may be fractions. That of [`Plateau`] is 1: it
    /// needs [`LrSchedule::factor_with`].
    pub fn factor(&self, epoch: f64, epochs: f64) -> f64 {
        self.factor_with(epoch, epochs, &[])
    }

    /// The same, with the metric of each completed epoch, which [`Plateau`] monitors.
    pub fn factor_with(&self, epoch: f64, epochs: f64, metrics: &[f64]) -> f64 {
        let epoch = match self.per_epoch {
            true => epoch.floor(),
            false => epoch,
        };
        match epoch < self.warm_up {
            true => epoch / self.warm_up,
            false => {
                let (epoch, epochs) = (epoch - self.warm_up, epochs - self.warm_up);
                self.shape.factor(epoch, epochs, metrics)
            }
        }
    }

    /// The [`Plateau`] of this schedule: its metric must be passed to [`LrSchedule::factor_with`].
    pub fn plateau(&self) -> Option<&Plateau> {
        self.shape.as_type()?.downcast_ref()
    }

    /// Whether the factor depends on the number of epochs. Otherwise a run can be resumed with more epochs.
    pub fn depends_on_epochs(&self) -> bool {
        self.shape.depends_on_epochs()
    }
}

/// The progress, from 0 to 1.
fn fraction(epoch: f64, epochs: f64) -> f64 {
    (epoch / epochs.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_outside_their_domain_are_refused() {
        for (given, part) in [
            (json!({"name": "constant", "gamma": 0.5}), "`gamma`"),
            (json!({"name": "step", "gamma": 0.0}), "`gamma` is 0"),
            (json!({"name": "plateau", "patience": -1}), "`patience`"),
            (
                json!({"name": "multi-step", "milestones": [1.0, -2.0]}),
                "`milestones` is -2",
            ),
            (json!({"name": "multi-step"}), "milestones"),
            (
                json!({"name": "one-cycle", "pct_start": 1.0}),
                "`pct_start`",
            ),
            (json!({"name": "cosine", "warm_up": -1.0}), "`warm_up`"),
        ] {
            let refused = spikelet_schema::from_json::<LrSchedule>(&given);
            let problem = refused.expect_err(part).problem.to_string();
            assert!(problem.contains(part), "{problem}");
        }
    }

    #[test]
    fn a_plateau_is_found_behind_a_warm_up() {
        let plateau = Plateau {
            patience: 0,
            ..Plateau::default()
        };
        let schedule = LrSchedule::from(plateau).warm_up(1.0);
        assert_eq!(schedule.plateau().map(|plateau| plateau.patience), Some(0));
        assert_eq!(schedule.factor_with(0.5, 4.0, &[]), 0.5);
        assert_eq!(schedule.factor_with(2.0, 4.0, &[1.0, 1.0]), 0.1);
        assert!(!schedule.depends_on_epochs());
    }
}
