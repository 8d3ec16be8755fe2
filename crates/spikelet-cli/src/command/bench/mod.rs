//! `spikelet bench …`

mod measure;
mod neuron;
mod train;

use super::examples;
use crate::failure::Failure;
use spikelet::log::Console;
use std::process::ExitCode;

/// Measure time and memory
///
/// Each measurement runs in a process of its own, so that its peak is its own: the largest
/// resident memory of the whole process.
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet bench neuron" => "a neuron's multi-step passes, against a copy of memory",
    "spikelet bench neuron --neuron plif --time-steps 4 --json" => "another one, for machines",
    "spikelet bench train mnist-fc" => "a training step",
])]
pub enum Command {
    Neuron(neuron::Neuron),
    Train(train::Train),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::Neuron(command) => command.run(console),
            Self::Train(command) => command.run(console),
        }
    }
}
