//! The metric that selects the best epoch.

use super::checkpoint::EpochRecord;
use super::metric::{ACCURACY, LOSS};
use super::optim::LrSchedule;
use super::step::MetricSet;
use spikelet_core::{Error, Result};
use spikelet_report::Goal;

/// The metric that selects the best epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MonitoredMetric {
    pub(super) name: String,
    pub(super) goal: Goal,
    /// The metric that a plateau schedule monitors.
    pub(super) of_plateau: String,
}

impl MonitoredMetric {
    /// The given metric; or else the accuracy, if the step has it; or else the loss.
    pub(super) fn new(
        given: Option<&(String, Goal)>,
        metrics: &MetricSet,
        schedule: &LrSchedule,
    ) -> Result<Self> {
        let has = |name: &str| name == LOSS || metrics.names().any(|other| other == name);
        let unknown = |what: &str, given: String| {
            let known: Vec<&str> = [LOSS].into_iter().chain(metrics.names()).collect();
            Error::invalid(what, given, format!("use one of: {}", known.join(", ")))
        };
        let (metric, goal) = match given {
            Some((metric, goal)) if has(metric) => (metric.clone(), *goal),
            Some((metric, _)) => {
                return Err(unknown(
                    "monitored metric",
                    format!("the step has no metric `{metric}`"),
                ));
            }
            None if has(ACCURACY) => (ACCURACY.to_string(), Goal::Maximize),
            None => (LOSS.to_string(), Goal::Minimize),
        };
        let of_plateau = match schedule.plateau() {
            Some(plateau) if plateau.maximize != (goal == Goal::Maximize) => {
                match plateau.maximize {
                    false => LOSS.to_string(),
                    true if has(ACCURACY) => ACCURACY.to_string(),
                    true => {
                        return Err(unknown(
                            "plateau schedule",
                            format!("it maximizes, the monitored metric `{metric}` is minimized"),
                        ));
                    }
                }
            }
            _ => metric.clone(),
        };
        Ok(Self {
            name: metric,
            goal,
            of_plateau,
        })
    }

    /// Whether a value is better than the best one before; NaN never is.
    pub(super) fn improves(&self, value: f64, before: Option<f64>) -> bool {
        match (before, self.goal) {
            (None, _) => !value.is_nan(),
            (Some(before), Goal::Maximize) => value > before,
            (Some(before), Goal::Minimize) => value < before,
        }
    }

    /// The best value of the completed epochs.
    pub(super) fn best(&self, history: &[EpochRecord]) -> Option<f64> {
        let values = history.iter().filter_map(|record| {
            let validation = record.validation.as_ref()?;
            validation.get(&self.name)
        });
        values.fold(None, |best, value| match self.improves(value, best) {
            true => Some(value),
            false => best,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::schedule::Plateau;

    fn plateau(maximize: bool) -> LrSchedule {
        LrSchedule::from(Plateau {
            maximize,
            ..Plateau::default()
        })
    }

    #[test]
    fn a_plateau_schedule_monitors_the_same_metric_if_the_goals_agree() {
        let accuracy = MetricSet::of_classifier();
        let of = |given: Option<&(String, Goal)>, maximize| {
            let monitor = MonitoredMetric::new(given, &accuracy, &plateau(maximize));
            monitor.map(|m| (m.name, m.of_plateau))
        };
        let both = |a: &str, b: &str| Some((a.to_string(), b.to_string()));
        assert_eq!(of(None, true).ok(), both("accuracy", "accuracy"));
        assert_eq!(of(None, false).ok(), both("accuracy", "loss"));
        let loss = ("loss".to_string(), Goal::Minimize);
        assert_eq!(of(Some(&loss), true).ok(), both("loss", "accuracy"));
        let none = ("r2".to_string(), Goal::Maximize);
        let message = of(Some(&none), true).expect_err("unknown").to_string();
        assert!(message.contains("use one of: loss, accuracy"), "{message}");
    }

    #[test]
    fn nan_is_never_better() {
        let schedule = LrSchedule::default();
        let monitor =
            MonitoredMetric::new(None, &MetricSet::of_classifier(), &schedule).expect("sound");
        assert!(!monitor.improves(f64::NAN, None) && !monitor.improves(f64::NAN, Some(0.5)));
        assert!(monitor.improves(0.6, Some(0.5)) && !monitor.improves(0.5, Some(0.5)));
    }
}
