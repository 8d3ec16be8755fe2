//! `spikelet-dev kernel …`

mod compile;
mod file;
mod show;
mod usage;

use spikelet::log::Console;
use spikelet_cli::command::examples;
use spikelet_cli::failure::Failure;
use std::process::ExitCode;

/// Print and compile CUDA kernels (no GPU needed)
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet-dev kernel show --neuron lif --pass bptt" => "a neuron's backward kernel",
    "spikelet-dev kernel show --neuron plif --style fused --dtype bf16" => "the kernel that training runs",
    "spikelet-dev kernel compile mine.cu --arch 80" => "check that a file compiles, and list the resources of its kernels",
])]
pub enum Command {
    Show(Box<show::Show>),
    Compile(compile::Compile),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::Show(command) => command.run(console),
            Self::Compile(command) => command.run(console),
        }
    }
}
