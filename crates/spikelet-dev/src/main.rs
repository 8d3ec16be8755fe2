//! The `spikelet-dev` program: the developers' commands, one file each under `command`.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 `case diff` found a difference.

mod case;
mod command;
mod events;
mod weights;

use clap::Parser;
use command::Command;
use spikelet::log::Console;
use spikelet_cli::command::examples;
use spikelet_cli::failure::Failure;
use spikelet_cli::{Cli, OutputArgs};
use std::process::ExitCode;

/// Developers' commands of spikelet: run and compare reference cases, write generated pages,
/// compile kernel files, measure single layers
#[derive(Parser)]
#[command(
    name = "spikelet-dev",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(after_help = examples![
    "spikelet-dev case run --case case.safetensors --out ours.safetensors" => "compute the results of a reference case",
    "spikelet-dev case diff ours.safetensors case.safetensors --tolerance 1e-6" => "compare them with the expected ones",
    "spikelet-dev neuron docs --out docs/neurons.md" => "write the page of all neurons",
])]
struct SpikeletDev {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    output: OutputArgs,
}

impl Cli for SpikeletDev {
    fn output(&self) -> OutputArgs {
        self.output
    }

    fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        self.command.run(console)
    }
}

fn main() -> ExitCode {
    spikelet_cli::main::<SpikeletDev>()
}

#[cfg(test)]
mod tests {
    use super::SpikeletDev;
    use clap::CommandFactory;
    use spikelet_cli::help::check_examples;

    #[test]
    fn the_arguments_are_declared_consistently() {
        SpikeletDev::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        assert_eq!(check_examples::<SpikeletDev>(), Ok(()));
    }
}
