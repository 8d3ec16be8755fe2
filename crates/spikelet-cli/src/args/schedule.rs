//! The learning rate schedule on the command line.

use super::named::{member_over, named, names_of};
use super::{described, not_negative, positive};
use crate::failure::Failure;
use serde_json::{Map, Value};
use spikelet::optim::LrSchedule;
use spikelet::optim::schedule::{SCHEDULES, Schedule};
use spikelet::train::Settings;

/// A schedule and its constants.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Training")]
pub struct ScheduleArgs {
    #[arg(help = "Learning rate schedule, as in cosine or 'one-cycle pct_start=0.2'", long_help = described(&schedules(), name), long, value_name = "NAME", value_parser = named::<dyn Schedule>)]
    schedule: Option<Map<String, Value>>,

    /// Length of the cosine in epochs (T_max), with --schedule cosine; afterwards the rate stays at
    /// its minimum [default: all epochs]
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    cosine_epochs: Option<f64>,

    /// Number of epochs between two decays, with --schedule step [default: 32]
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    step_epochs: Option<f64>,

    /// Epochs after which the rate decays, as in 30,60,80, with --schedule multi-step
    #[arg(hide_short_help = true, long, value_name = "X,X", value_parser = not_negative, value_delimiter = ',', allow_negative_numbers = true)]
    milestones: Vec<f64>,

    /// Decay factor, with --schedule step, multi-step, exponential or plateau [default: 0.1, of
    /// exponential 0.95]
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    gamma: Option<f64>,

    /// Number of epochs of linear warm-up before the schedule [default: 0]
    #[arg(hide_short_help = true, long, value_name = "EPOCHS", value_parser = not_negative, allow_negative_numbers = true)]
    warm_up: Option<f64>,

    /// Change the learning rate after each epoch instead of each step
    #[arg(hide_short_help = true, long)]
    lr_per_epoch: bool,
}

/// The help of `--schedule`.
fn schedules() -> String {
    let names = names_of::<dyn Schedule>();
    format!("Learning rate schedule: {names}; with constants as in 'one-cycle pct_start=0.2'")
}

impl ScheduleArgs {
    /// The schedule with the given options.
    ///
    /// # Errors
    /// When a constant of another schedule is given.
    pub fn build(&self, own: LrSchedule) -> Result<LrSchedule, Failure> {
        let mut given = self.schedule.clone().unwrap_or_default();
        let named = given.get("name").and_then(Value::as_str);
        // A schedule that is named starts from its defaults.
        let mut schedule = match named.and_then(|name| SCHEDULES.find(name).ok()) {
            Some(entry) => LrSchedule {
                shape: (entry.default)().into(),
                ..LrSchedule::default()
            },
            None => own,
        };
        let name = schedule.shape.declaration().name;
        let milestones = (!self.milestones.is_empty()).then(|| Value::from(&self.milestones[..]));
        let options = [
            (
                "--step-epochs",
                "epochs",
                self.step_epochs.map(Value::from),
                &["step"][..],
            ),
            ("--milestones", "milestones", milestones, &["multi-step"]),
            (
                "--gamma",
                "gamma",
                self.gamma.map(Value::from),
                &["step", "multi-step", "exponential", "plateau"],
            ),
            (
                "--cosine-epochs",
                "epochs",
                self.cosine_epochs.map(Value::from),
                &["cosine"],
            ),
        ];
        for (option, key, value, of) in options {
            let Some(value) = value else { continue };
            if !of.contains(&name) {
                let of = of.join(" or ");
                return Err(Failure::argument(
                    format!("{option} belongs to --schedule {of}"),
                    format!("write --schedule {of}, or leave {option} out"),
                ));
            }
            if given.insert(key.to_string(), value).is_some() {
                return Err(Failure::argument(
                    format!("{key} is given twice: by --schedule and by {option}"),
                    format!("leave {option} out"),
                ));
            }
        }
        if name == "multi-step" && self.schedule.is_some() && !given.contains_key("milestones") {
            return Err(Failure::argument(
                "--schedule multi-step needs the epochs after which the rate decays",
                "write, for example, --milestones 30,60,80",
            ));
        }
        schedule.shape = member_over(&*schedule.shape, given)?.into();
        if let Some(epochs) = self.warm_up {
            schedule.warm_up = epochs;
        }
        schedule.per_epoch |= self.lr_per_epoch;
        Ok(schedule)
    }
}

fn name(settings: &Settings) -> String {
    settings.schedule.shape.declaration().name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use spikelet::optim::schedule::{Cosine, Exponential, MultiStep, OneCycle, Step};

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        schedule: ScheduleArgs,
    }

    fn own() -> LrSchedule {
        LrSchedule::from(Cosine {
            min_factor: 0.25,
            ..Cosine::default()
        })
    }

    fn built(words: &str) -> Result<LrSchedule, Failure> {
        let words = Words::parse_from(["spikelet"].into_iter().chain(words.split_whitespace()));
        words.schedule.build(own())
    }

    #[test]
    fn warm_up_precedes_the_given_or_the_default_schedule() {
        assert_eq!(built("").ok(), Some(own()));
        assert_eq!(built("--warm-up 2").ok(), Some(own().warm_up(2.0)));
        let stepped = LrSchedule::from(Step {
            epochs: 10.0,
            gamma: 0.5,
        });
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
    fn every_schedule_has_its_constants() {
        let expected = LrSchedule::from(MultiStep {
            milestones: vec![2.0, 5.5],
            gamma: 0.5,
        });
        let words = "--schedule multi-step --milestones 2,5.5 --gamma 0.5";
        assert_eq!(built(words).ok(), Some(expected));
        let expected = LrSchedule::from(OneCycle {
            pct_start: 0.2,
            div_factor: 10.0,
            ..OneCycle::default()
        });
        let words = "--schedule one-cycle:pct_start=0.2,div_factor=10";
        assert_eq!(built(words).ok(), Some(expected));
        let expected = LrSchedule::from(Exponential { gamma: 0.9 }).per_epoch();
        let words = "--schedule exponential --gamma 0.9 --lr-per-epoch";
        assert_eq!(built(words).ok(), Some(expected));
        for (words, part) in [
            ("--schedule multi-step", "--milestones"),
            ("--schedule step:gamma=0.5 --gamma 0.1", "twice"),
            ("--schedule constant:gamma=0.5", "no key `gamma`"),
            ("--schedule polynomial:power=0", "`power`"),
        ] {
            let refused = built(words).expect_err(words).to_string();
            assert!(refused.contains(part), "{words}: {refused}");
        }
    }

    #[test]
    fn a_step_has_a_default_length_and_a_cosine_can_have_its_own() {
        let stepped = LrSchedule::from(Step::default());
        assert_eq!(built("--schedule step").ok(), Some(stepped));
        let over = |min_factor| {
            LrSchedule::from(Cosine {
                epochs: Some(8.0),
                min_factor,
            })
        };
        assert_eq!(built("--cosine-epochs 8").ok(), Some(over(0.25)));
        let named = "--schedule cosine --cosine-epochs 8";
        assert_eq!(built(named).ok(), Some(over(0.0)));
    }
}
