//! `spikelet kernel …`

mod show;

use super::examples;
use crate::failure::Failure;
use spikelet::log::Console;
use std::process::ExitCode;

/// Print CUDA kernels (no GPU needed)
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet kernel show --neuron lif --pass bptt" => "a neuron's backward kernel",
    "spikelet kernel show --neuron plif --style fused --dtype bf16" => "the kernel that training runs",
])]
pub enum Command {
    Show(Box<show::Show>),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::Show(command) => command.run(console),
        }
    }
}
