//! Learning-rate schedules.

mod one_cycle;
mod plateau;

pub use one_cycle::OneCycle;
pub use plateau::Plateau;

use super::constants::{self, with_constants};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spikelet_core::{Error, Result};
use spikelet_nn::DefinitionError;
use spikelet_nn::domain::{self, Constant, Domain};
use std::f64::consts::PI;

/// The factor of the learning rate as a function of the progress in epochs, which changes with each step. With
/// [`LrSchedule::PerEpoch`] it changes after each epoch.
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
    /// The rate is multiplied by `gamma` after each of the milestones.
    MultiStep {
        /// The numbers of epochs after which the rate changes.
        milestones: Vec<f64>,
        /// The factor.
        gamma: f64,
    },
    /// The rate is multiplied by `gamma` in the course of each epoch.
    Exponential {
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
    /// A polynomial from the initial rate to `min_factor` times the rate: (1 − progress)^`power`.
    Polynomial {
        /// The exponent; 1 is a linear schedule.
        power: f64,
        /// The factor at the end.
        min_factor: f64,
    },
    /// Growth to the learning rate, then decay far below it.
    OneCycle(OneCycle),
    /// Reduction after epochs without improvement of a metric: see [`LrSchedule::factor_with`].
    Plateau(Plateau),
    /// Linear growth over the first epochs, then another schedule.
    WarmUp {
        /// The length of the growth in epochs.
        epochs: f64,
        /// The schedule after the warm-up.
        then: Box<LrSchedule>,
    },
    /// Another schedule that is evaluated at the beginning of each epoch: the rate is constant within an epoch, as in
    /// PyTorch programs that call the scheduler after each epoch.
    PerEpoch {
        /// The schedule.
        then: Box<LrSchedule>,
    },
}

impl LrSchedule {
    /// The names of the schedules that [`LrSchedule::find`] finds, as on the command line.
    pub const NAMES: &'static [&'static str] = &[
        "constant",
        "cosine",
        "exponential",
        "multi-step",
        "one-cycle",
        "plateau",
        "polynomial",
        "step",
    ];

    /// The name, as on the command line. [`LrSchedule::CosineOver`] has the name of the cosine.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Step { .. } => "step",
            Self::MultiStep { .. } => "multi-step",
            Self::Exponential { .. } => "exponential",
            Self::Cosine { .. } | Self::CosineOver { .. } => "cosine",
            Self::Polynomial { .. } => "polynomial",
            Self::OneCycle(_) => "one-cycle",
            Self::Plateau(_) => "plateau",
            Self::WarmUp { .. } => "warm-up",
            Self::PerEpoch { .. } => "per-epoch",
        }
    }

    /// The schedule of this name with its defaults: `gamma` is 0.1, of `exponential` 0.95; `step` changes the rate
    /// every 32 epochs, `multi-step` has no milestones, `polynomial` is linear.
    ///
    /// ```
    /// use spikelet_train::optim::LrSchedule;
    /// assert_eq!(LrSchedule::find("cosine")?, LrSchedule::Cosine { min_factor: 0.0 });
    /// assert!(LrSchedule::find("triangle").is_err());
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::UnknownName`].
    pub fn find(name: &str) -> Result<Self> {
        Ok(match name {
            "constant" => Self::Constant,
            "cosine" => Self::Cosine { min_factor: 0.0 },
            "exponential" => Self::Exponential { gamma: 0.95 },
            "multi-step" => Self::MultiStep {
                milestones: vec![],
                gamma: 0.1,
            },
            "one-cycle" => Self::OneCycle(OneCycle::default()),
            "plateau" => Self::Plateau(Plateau::default()),
            "polynomial" => Self::Polynomial {
                power: 1.0,
                min_factor: 0.0,
            },
            "step" => Self::Step {
                epochs: 32.0,
                gamma: 0.1,
            },
            _ => {
                return Err(DefinitionError::UnknownName {
                    family: "schedule",
                    name: name.to_string(),
                    known: Self::NAMES.to_vec(),
                }
                .into());
            }
        })
    }

    /// The schedule with a length of its own, the constant `epochs`: a cosine over all epochs has one of 1 epoch then, which
    /// [`LrSchedule::with`] changes. Other schedules stay the same.
    #[must_use]
    pub fn with_own_length(self) -> Self {
        match self {
            Self::Cosine { min_factor } => Self::CosineOver {
                epochs: 1.0,
                min_factor,
            },
            other => other,
        }
    }

    /// The constants by name.
    pub fn constants(&self) -> Map<String, Value> {
        constants::constants(self)
    }

    /// The same schedule with other values of some constants.
    ///
    /// # Errors
    /// When a constant is unknown, of another type, or outside its domain.
    ///
    /// ```
    /// use spikelet_train::optim::LrSchedule;
    /// let constants = serde_json::json!({"power": 2.0});
    /// let schedule = LrSchedule::find("polynomial")?;
    /// let schedule = schedule.with(constants.as_object().expect("an object"))?;
    /// assert_eq!(schedule.factor(5.0, 10.0), 0.25);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    pub fn with(&self, constants: &Map<String, Value>) -> Result<Self> {
        let changed = with_constants(self, "schedule", self.name(), constants)?;
        changed.check()?;
        Ok(changed)
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
            Self::MultiStep { milestones, gamma } => {
                let milestones = milestones.iter().copied();
                let milestone = |at| Constant::new("milestones", at, Domain::at_least(0.0));
                let gamma = Constant::new("gamma", *gamma, some);
                milestones.map(milestone).chain([gamma]).collect()
            }
            Self::Exponential { gamma } => vec![Constant::new("gamma", *gamma, some)],
            Self::Cosine { min_factor } => vec![Constant::new("min_factor", *min_factor, share)],
            Self::CosineOver { epochs, min_factor } => vec![
                Constant::new("epochs", *epochs, some),
                Constant::new("min_factor", *min_factor, share),
            ],
            Self::Polynomial { power, min_factor } => vec![
                Constant::new("power", *power, some),
                Constant::new("min_factor", *min_factor, share),
            ],
            Self::OneCycle(schedule) => schedule.domains(),
            Self::Plateau(schedule) => schedule.domains(),
            Self::WarmUp { epochs, then } => {
                let own = vec![Constant::new("epochs", *epochs, some)];
                [own, then.domains()].concat()
            }
            Self::PerEpoch { then } => then.domains(),
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

    /// The factor of the learning rate after `epoch` of `epochs` epochs; both may be fractions. That of
    /// [`LrSchedule::Plateau`] is 1: it needs [`LrSchedule::factor_with`].
    pub fn factor(&self, epoch: f64, epochs: f64) -> f64 {
        self.factor_with(epoch, epochs, &[])
    }

    /// The same, with the metric of each completed epoch, which [`LrSchedule::Plateau`] monitors.
    pub fn factor_with(&self, epoch: f64, epochs: f64, metrics: &[f64]) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Step {
                epochs: size,
                gamma,
            } => gamma.powf((epoch / size.max(f64::MIN_POSITIVE)).floor()),
            Self::MultiStep { milestones, gamma } => {
                let passed = milestones.iter().filter(|at| **at <= epoch);
                gamma.powf(passed.count() as f64)
            }
            Self::Exponential { gamma } => gamma.powf(epoch),
            Self::Cosine { min_factor } => cosine(epoch, epochs, *min_factor),
            Self::CosineOver {
                epochs: length,
                min_factor,
            } => cosine(epoch, *length, *min_factor),
            Self::Polynomial { power, min_factor } => {
                let rest = 1.0 - fraction(epoch, epochs);
                min_factor + (1.0 - min_factor) * rest.powf(*power)
            }
            Self::OneCycle(schedule) => schedule.factor(fraction(epoch, epochs)),
            Self::Plateau(schedule) => schedule.factor_after(metrics),
            Self::WarmUp { epochs: size, then } => {
                if epoch < *size {
                    epoch / size
                } else {
                    then.factor_with(epoch - size, epochs - size, metrics)
                }
            }
            Self::PerEpoch { then } => then.factor_with(epoch.floor(), epochs, metrics),
        }
    }

    /// The [`LrSchedule::Plateau`] in this schedule: its metric must be passed to [`LrSchedule::factor_with`].
    pub fn plateau(&self) -> Option<&Plateau> {
        match self {
            Self::Plateau(schedule) => Some(schedule),
            Self::WarmUp { then, .. } | Self::PerEpoch { then } => then.plateau(),
            _ => None,
        }
    }

    /// Whether the factor depends on the number of epochs. Otherwise a run can be resumed with more epochs.
    pub fn depends_on_epochs(&self) -> bool {
        match self {
            Self::Constant
            | Self::Step { .. }
            | Self::MultiStep { .. }
            | Self::Exponential { .. }
            | Self::CosineOver { .. }
            | Self::Plateau(_) => false,
            Self::Cosine { .. } | Self::Polynomial { .. } | Self::OneCycle(_) => true,
            Self::WarmUp { then, .. } | Self::PerEpoch { then } => then.depends_on_epochs(),
        }
    }
}

/// The progress, from 0 to 1.
fn fraction(epoch: f64, epochs: f64) -> f64 {
    (epoch / epochs.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
}

/// Cosine annealing from 1 to `min_factor`, constant afterwards.
fn cosine(epoch: f64, epochs: f64, min_factor: f64) -> f64 {
    let part = fraction(epoch, epochs);
    min_factor + (1.0 - min_factor) * 0.5 * (1.0 + (PI * part).cos())
}

/// Half a cosine from `first` to `last`, for a part from 0 to 1.
fn cosine_between(first: f64, last: f64, part: f64) -> f64 {
    let share = 0.5 * (1.0 + (PI * part).cos());
    share * first + (1.0 - share) * last
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    #[test]
    fn every_schedule_is_found_by_its_name_and_keeps_its_constants() {
        for &name in LrSchedule::NAMES {
            let schedule = LrSchedule::find(name).expect("it is known");
            assert_eq!(schedule.name(), name);
            assert_eq!(schedule.with(&schedule.constants()).ok(), Some(schedule));
        }
    }

    #[test]
    fn constants_are_checked() {
        for (name, constants, given) in [
            ("constant", json!({"gamma": 0.5}), "no constants"),
            ("step", json!({"gamma": 0.0}), "`gamma`"),
            ("plateau", json!({"patience": -1}), "plateau"),
            (
                "multi-step",
                json!({"milestones": [1.0, -2.0]}),
                "`milestones`",
            ),
            ("one-cycle", json!({"pct_start": 1.0}), "`pct_start`"),
        ] {
            let schedule = LrSchedule::find(name).expect("it is known");
            let refused = schedule.with(constants.as_object().expect("an object"));
            let problem = refused.expect_err(given).to_string();
            assert!(problem.contains(given), "{problem}");
        }
    }

    #[test]
    fn checkpoints_of_earlier_versions_are_read() {
        let warm_up = LrSchedule::WarmUp {
            epochs: 2.0,
            then: Box::new(LrSchedule::Cosine { min_factor: 0.0 }),
        };
        let step = LrSchedule::Step {
            epochs: 32.0,
            gamma: 0.1,
        };
        for (text, expected) in [
            (r#"{"name":"constant"}"#, LrSchedule::Constant),
            (r#"{"name":"step","epochs":32.0,"gamma":0.1}"#, step),
            (
                r#"{"name":"warm_up","epochs":2.0,"then":{"name":"cosine","min_factor":0.0}}"#,
                warm_up,
            ),
        ] {
            let read: LrSchedule = serde_json::from_str(text).expect("it is readable");
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn a_plateau_is_found_in_other_schedules() {
        let then = Box::new(LrSchedule::Plateau(Plateau {
            patience: 0,
            ..Plateau::default()
        }));
        let schedule = LrSchedule::WarmUp { epochs: 1.0, then };
        assert_eq!(schedule.plateau().map(|plateau| plateau.patience), Some(0));
        assert_eq!(schedule.factor_with(0.5, 4.0, &[]), 0.5);
        assert_eq!(schedule.factor_with(2.0, 4.0, &[1.0, 1.0]), 0.1);
        assert!(!schedule.depends_on_epochs());
    }
}
