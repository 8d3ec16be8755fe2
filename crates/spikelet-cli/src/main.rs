//! The `spikelet` program: one file for each command under `command`.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 `neuron diff` found a difference.

mod args;
mod command;
mod equation;
mod failure;
mod machine;
mod suggest;
mod table;

use clap::Parser;
use command::Command;
use spikelet::log::{Console, Output};
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
    #[arg(long, global = true, conflicts_with = "quiet")]
    json: bool,

    /// Print nothing but errors
    #[arg(long, short, global = true)]
    quiet: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = match (cli.json, cli.quiet) {
        (true, _) => Output::Json,
        (_, true) => Output::Quiet,
        _ => Output::Text,
    };
    match cli.command.run(&Console::new(output)) {
        Ok(code) => code,
        Err(failure) => failure.print(),
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_declared_consistently() {
        Cli::command().debug_assert();
    }
}
