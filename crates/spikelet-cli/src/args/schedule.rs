//! How the learning rate goes with training, as it is said on the command line.

use super::{described, not_negative, positive};
use crate::failure::Failure;
use spikelet::optim::Schedule;
use spikelet::train::Settings;

/// A schedule and its numbers.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Training")]
pub struct ScheduleArgs {
    #[arg(help = described("How the learning rate goes with training", name), long, value_name = "NAME", value_parser = ["constant", "cosine", "step"])]
    schedule: Option<String>,

    /// Epochs between two changes, with --schedule step
    #[arg(long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    step_epochs: Option<f64>,

    /// What a change multiplies the rate with, with --schedule step [default: 0.1]
    #[arg(long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    gamma: Option<f64>,

    /// Epochs of linear growth before the schedule [default: 0]
    #[arg(long, value_name = "EPOCHS", value_parser = not_negative, allow_negative_numbers = true)]
    warm_up: Option<f64>,
}

impl ScheduleArgs {
    /// The schedule, over the one that there is.
    ///
    /// # Errors
    /// When the numbers of a step are missing or given to another schedule.
    pub fn build(&self, own: Schedule) -> Result<Schedule, Failure> {
        let steps = self.schedule.as_deref() == Some("step");
        let numbers = [
            ("--step-epochs", self.step_epochs.is_some()),
            ("--gamma", self.gamma.is_some()),
        ];
        if let Some((option, _)) = numbers.into_iter().find(|(_, given)| *given && !steps) {
            return Err(Failure::argument(
                format!("{option} belongs to --schedule step"),
                format!("write --schedule step, or leave {option} out"),
            ));
        }
        let schedule = match self.schedule.as_deref() {
            Some("constant") => Schedule::Constant,
            Some("cosine") => Schedule::Cosine { least: 0.0 },
            Some(_) => Schedule::Step {
                epochs: self.step_epochs.ok_or_else(|| {
                    Failure::argument(
                        "--schedule step needs to know when",
                        "write --step-epochs EPOCHS",
                    )
                })?,
                gamma: self.gamma.unwrap_or(0.1),
            },
            None => own,
        };
        Ok(match self.warm_up {
            Some(epochs) if epochs > 0.0 => Schedule::WarmUp {
                epochs,
                then: Box::new(schedule),
            },
            _ => schedule,
        })
    }
}

fn name(settings: &Settings) -> String {
    let name = match settings.schedule {
        Schedule::Constant => "constant",
        Schedule::Step { .. } => "step",
        Schedule::Cosine { .. } => "cosine",
        Schedule::WarmUp { .. } => "warm-up",
    };
    name.to_string()
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

    fn built(words: &str) -> Result<Schedule, Failure> {
        let words = Words::parse_from(["spikelet"].into_iter().chain(words.split_whitespace()));
        words.schedule.build(Schedule::Cosine { least: 0.25 })
    }

    #[test]
    fn growth_goes_before_the_schedule_that_is_named_or_there() {
        let own = Schedule::Cosine { least: 0.25 };
        assert_eq!(built("").ok(), Some(own.clone()));
        let grown = Schedule::WarmUp {
            epochs: 2.0,
            then: Box::new(own),
        };
        assert_eq!(built("--warm-up 2").ok(), Some(grown));
        let stepped = Schedule::Step {
            epochs: 10.0,
            gamma: 0.5,
        };
        let words = "--schedule step --step-epochs 10 --gamma 0.5 --warm-up 0";
        assert_eq!(built(words).ok(), Some(stepped));
    }

    #[test]
    fn the_numbers_of_a_step_need_a_step_and_a_step_its_length() {
        for words in [
            "--gamma 0.5",
            "--schedule cosine --step-epochs 3",
            "--schedule step",
        ] {
            let refused = built(words).expect_err(words).to_string();
            assert!(refused.contains("step"), "{refused}");
        }
    }
}
