//! The arguments of the `spikelet` program.

use crate::command::{Command, examples};
use crate::failure::Failure;
use crate::{Cli, OutputArgs};
use clap::Parser;
use spikelet::log::Console;
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
pub struct Spikelet {
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

#[cfg(test)]
mod tests {
    use super::Spikelet;
    use crate::help::check_examples;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_declared_consistently() {
        Spikelet::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        assert_eq!(check_examples::<Spikelet>(), Ok(()));
    }
}
