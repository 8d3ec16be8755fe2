//! The `spikelet` program: one file for each command under `command`.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong arguments, 4 another rank has ended the run,
//! 130 interrupted.

use clap::Parser;
use spikelet::log::Console;
use spikelet_cli::command::{Command, examples};
use spikelet_cli::failure::Failure;
use spikelet_cli::{Cli, OutputArgs};
use std::process::ExitCode;

/// Deep spiking neural networks: train, evaluate, inspect, measure.
#[derive(Parser)]
#[command(
    name = "spikelet",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(after_help = examples![
    "spikelet train" => "train a network on generated digits: needs no files",
    "spikelet doctor" => "check this machine",
    "spikelet neuron show lif --surrogate atan" => "the equations of a neuron, forward and backward",
])]
struct Spikelet {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    output: OutputArgs,
}

impl Cli for Spikelet {
    fn output(&self) -> OutputArgs {
        self.output
    }

    fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        self.command.run(console)
    }
}

fn main() -> ExitCode {
    spikelet_cli::main::<Spikelet>()
}

#[cfg(test)]
mod tests {
    use super::Spikelet;
    use clap::CommandFactory;
    use spikelet_cli::help::check_examples;

    #[test]
    fn the_arguments_are_declared_consistently() {
        Spikelet::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        assert_eq!(check_examples::<Spikelet>(), Ok(()));
    }
}
