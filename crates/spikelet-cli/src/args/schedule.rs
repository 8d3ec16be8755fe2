//! The learning rate schedule on the command line.

use super::{described, not_negative, positive};
use crate::failure::Failure;
use spikelet::optim::LrSchedule;
use spikelet::train::Settings;

/// A schedule and its constants.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Training")]
pub struct ScheduleArgs {
    #[arg(help = "Learning rate schedule", long_help = described("Learning rate schedule", name), long, value_name = "NAME", value_parser = ["constant", "cosine", "step"])]
    schedule: Option<String>,

    /// Length of the cosine in epochs (T_max), with --schedule cosine; afterwards the rate stays at
    /// its minimum [default: all epochs]
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    cosine_epochs: Option<f64>,

    /// Number of epochs between two decays, with --schedule step [default: 32]
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    step_epochs: Option<f64>,

    /// Decay factor, with --schedule step [default: 0.1]
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    gamma: Option<f64>,

    /// Number of epochs of linear warm-up before the schedule [default: 0]
    #[arg(hide_short_help = true, long, value_name = "EPOCHS", value_parser = not_negative, allow_negative_numbers = true)]
    warm_up: Option<f64>,
}

/// Epochs between two changes of the rate, as in SpikingJelly's Fashion-MNIST tutorial.
const STEP_EPOCHS: f64 = 32.0;

impl ScheduleArgs {
    /// The schedule with the given options.
    ///
    /// # Errors
    /// When a constant of another schedule is given.
    pub fn build(&self, own: LrSchedule) -> Result<LrSchedule, Failure> {
        let name = self.schedule.as_deref();
        let cosine = name.map_or(matches!(own, LrSchedule::Cosine { .. }), |n| n == "cosine");
        let numbers = [
            (
                "--cosine-epochs",
                self.cosine_epochs.is_some(),
                "cosine",
                cosine,
            ),
            (
                "--step-epochs",
                self.step_epochs.is_some(),
                "step",
                name == Some("step"),
            ),
            (
                "--gamma",
                self.gamma.is_some(),
                "step",
                name == Some("step"),
            ),
        ];
        if let Some((option, _, of, _)) =
            (numbers.into_iter()).find(|(_, given, _, is)| *given && !is)
        {
            return Err(Failure::argument(
                format!("{option} belongs to --schedule {of}"),
                format!("write --schedule {of}, or leave {option} out"),
            ));
        }
        let schedule = match name {
            Some("constant") => LrSchedule::Constant,
            Some("cosine") => LrSchedule::Cosine { min_factor: 0.0 },
            Some(_) => LrSchedule::Step {
                epochs: self.step_epochs.unwrap_or(STEP_EPOCHS),
                gamma: self.gamma.unwrap_or(0.1),
            },
            None => own,
        };
        let schedule = match (schedule, self.cosine_epochs) {
            (LrSchedule::Cosine { min_factor }, Some(epochs)) => {
                LrSchedule::CosineOver { epochs, min_factor }
            }
            (schedule, _) => schedule,
        };
        Ok(match self.warm_up {
            Some(epochs) if epochs > 0.0 => LrSchedule::WarmUp {
                epochs,
                then: Box::new(schedule),
            },
            _ => schedule,
        })
    }
}

fn name(settings: &Settings) -> String {
    settings.schedule.name().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        schedule: ScheduleArgs,
    }

    fn built(words: &str) -> Result<LrSchedule, Failure> {
        let words = Words::parse_from(["spikelet"].into_iter().chain(words.split_whitespace()));
        words
            .schedule
            .build(LrSchedule::Cosine { min_factor: 0.25 })
    }

    #[test]
    fn warm_up_precedes_the_given_or_the_default_schedule() {
        let own = LrSchedule::Cosine { min_factor: 0.25 };
        assert_eq!(built("").ok(), Some(own.clone()));
        let grown = LrSchedule::WarmUp {
            epochs: 2.0,
            then: Box::new(own),
        };
        assert_eq!(built("--warm-up 2").ok(), Some(grown));
        let stepped = LrSchedule::Step {
            epochs: 10.0,
            gamma: 0.5,
        };
        let words = "--schedule step --step-epochs 10 --gamma 0.5 --warm-up 0";
        assert_eq!(built(words).ok(), Some(stepped));
    }

    #[test]
    fn the_numbers_of_a_schedule_belong_to_it() {
        for (words, of) in [
            ("--gamma 0.5", "step"),
            ("--schedule cosine --step-epochs 3", "step"),
            ("--schedule constant --cosine-epochs 3", "cosine"),
        ] {
            let refused = built(words).expect_err(words).to_string();
            assert!(refused.contains(&format!("--schedule {of}")), "{refused}");
        }
    }

    #[test]
    fn a_step_has_a_default_length_and_a_cosine_can_have_its_own() {
        let stepped = LrSchedule::Step {
            epochs: 32.0,
            gamma: 0.1,
        };
        assert_eq!(built("--schedule step").ok(), Some(stepped));
        let over = |min_factor| LrSchedule::CosineOver {
            epochs: 8.0,
            min_factor,
        };
        assert_eq!(built("--cosine-epochs 8").ok(), Some(over(0.25)));
        let named = "--schedule cosine --cosine-epochs 8";
        assert_eq!(built(named).ok(), Some(over(0.0)));
    }
}
