//! `spikelet-dev case …`

mod diff;
mod run;

use spikelet::log::Console;
use spikelet_cli::command::examples;
use spikelet_cli::failure::Failure;
use std::process::ExitCode;

/// Run and compare reference cases
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet-dev case run --case case.safetensors --out ours.safetensors" => "compute the results of a case",
    "spikelet-dev case diff ours.safetensors case.safetensors --tolerance 1e-6" => "compare them with the expected ones",
])]
pub enum Command {
    Run(run::Run),
    Diff(diff::Diff),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::Run(command) => command.run(console),
            Self::Diff(command) => command.run(console),
        }
    }
}
