//! `spikelet-dev weights …`

mod run;

use spikelet::log::Console;
use spikelet_cli::command::examples;
use spikelet_cli::failure::Failure;
use std::process::ExitCode;

/// Reference networks of other frameworks
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet-dev weights run --network snntorch_mlp --weights snntorch_mlp.pt --input x.safetensors --out ours.safetensors" => "spikes and potentials of a network of snnTorch",
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
