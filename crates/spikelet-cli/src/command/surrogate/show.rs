//! `spikelet surrogate show`

use crate::args::{Setting, value};
use crate::args::{overlay, surrogate_names};
use crate::command::examples;
use crate::command::neuron::{say_surrogate, surrogate_json};
use crate::failure::Failure;
use spikelet::log::Console;
use spikelet::surrogate;
use std::process::ExitCode;

/// Print a surrogate's derivative g′ and its primitive g
///
/// x is the distance from the threshold, H − v_threshold.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet surrogate show atan" => "with its defaults",
    "spikelet surrogate show sigmoid --set alpha=1 --json" => "for machines",
])]
pub struct Show {
    /// The surrogate
    #[arg(value_name = "SURROGATE", value_parser = surrogate_names())]
    name: String,

    /// One of its constants; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,
}

impl Show {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let wrong = |problem: String| {
            Failure::argument(
                problem,
                format!("see `spikelet surrogate show {}`", self.name),
            )
        };
        let entry = surrogate::find(&self.name).map_err(wrong)?;
        let settings = self.set.iter().map(|s| (s.key.clone(), s.value.clone()));
        let given = overlay(
            &format!("surrogate `{}`", self.name),
            &(entry.defaults)(),
            settings,
        )?;
        let surrogate = (entry.build)(&given).map_err(wrong)?;
        console.say_json(&surrogate_json(&*surrogate));
        console.say(format!(
            "{}  {}",
            console.bold(value::text(&surrogate.spec())),
            entry.summary
        ));
        say_surrogate(console, &*surrogate);
        Ok(ExitCode::SUCCESS)
    }
}
