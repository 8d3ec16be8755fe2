//! `spikelet-dev events …`

mod run;

use spikelet::log::Console;
use spikelet_cli::command::examples;
use spikelet_cli::failure::Failure;
use std::process::ExitCode;

/// Reference items of event files, frames, transforms and data sets
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet-dev events run --manifest formats/MANIFEST.json --out ours" => "read the files that a manifest names",
])]
pub enum Command {
    Run(run::Run),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::Run(command) => command.run(console),
        }
    }
}
