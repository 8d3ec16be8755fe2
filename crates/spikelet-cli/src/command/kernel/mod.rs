//! `spikelet kernel …`

mod auto_cuda;
mod compile;
mod fused;
mod show;

use super::examples;
use crate::failure::Failure;
use spikelet::log::Console;
use std::process::ExitCode;

/// Print and compile CUDA kernels, without a GPU
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet kernel show --neuron lif --pass bptt" => "a neuron's backward kernel",
    "spikelet kernel show --neuron plif --style fused --dtype bf16" => "the one that the engine runs",
    "spikelet kernel compile mine.cu --arch 80" => "does a file compile, and what do its kernels use",
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
