//! The `spikelet` program: one file for each command under `command`.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 `neuron diff` found a difference, 4 another
//! rank has ended the run, 130 interrupted.

mod args;
mod command;
mod equation;
mod failure;
mod machine;
mod suggest;
mod table;

use clap::Parser;
use command::Command;
use failure::Failure;
use spikelet::log::{Console, Output};
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// Deep spiking neural networks: train, evaluate, inspect, measure.
#[derive(Parser)]
#[command(
    name = "spikelet",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(after_help = command::examples![
    "spikelet train" => "train a network on synthetic digits: needs no files",
    "spikelet doctor" => "what this machine offers",
    "spikelet neuron show lif --surrogate atan" => "one neuron's equations, forward and backward",
])]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Print JSON, one object a line, for machines
    #[arg(long, global = true, conflicts_with = "quiet", help_heading = "Output")]
    json: bool,

    /// Print nothing but errors
    #[arg(long, short, global = true, help_heading = "Output")]
    quiet: bool,
}

fn main() -> ExitCode {
    spikelet::files::refuse_instead_of_signal();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // The help is such an "error", too.
        Err(error) => {
            return printed(error.print()).unwrap_or(ExitCode::from(error.exit_code() as u8));
        }
    };
    let output = match (cli.json, cli.quiet) {
        (true, _) => Output::Json,
        (_, true) => Output::Quiet,
        _ => Output::Text,
    };
    match cli.command.run(&Console::new(output)) {
        Ok(code) => printed(Console::printed()).unwrap_or(code),
        Err(failure) => failure.print(),
    }
}

/// The exit code if what was to be read could not be printed.
fn printed(result: io::Result<()>) -> Option<ExitCode> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Some(Failure::from(error).print()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
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
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_can_be_typed() {
        for command in all(&Cli::command()) {
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
                let parsed = Cli::try_parse_from(words);
                assert!(
                    parsed.is_ok(),
                    "`{example}`: {}",
                    parsed.err().map(|e| e.to_string()).unwrap_or_default()
                );
            }
        }
    }
}
