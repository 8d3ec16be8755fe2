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
    use clap::{Command, CommandFactory, Parser};

    fn all(command: &Command) -> Vec<Command> {
        let below = command
            .get_subcommands()
            .filter(|c| c.get_name() != "help")
            .flat_map(all);
        std::iter::once(command.clone()).chain(below).collect()
    }

    /// The commands in a help's examples, as they are typed.
    fn examples(command: &Command) -> Vec<String> {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let lines = help
            .lines()
            .filter_map(|line| line.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
        lines.map(String::from).collect()
    }

    #[test]
    fn the_arguments_are_declared_consistently() {
        Spikelet::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_can_be_typed() {
        for command in all(&Spikelet::command()) {
            let examples = examples(&command);
            assert!(
                !examples.is_empty(),
                "{} has no examples",
                command.get_name()
            );
            for example in examples {
                let words = example
                    .split_whitespace()
                    .skip_while(|word| word.contains("GEMM="));
                let parsed = Spikelet::try_parse_from(words);
                assert!(
                    parsed.is_ok(),
                    "`{example}`: {}",
                    parsed.err().map(|e| e.to_string()).unwrap_or_default()
                );
            }
        }
    }
}
