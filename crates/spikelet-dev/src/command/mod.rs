//! The commands, one file each.

mod bench;
mod case;
mod events;
mod kernel;
mod neuron;
mod surrogate;
mod weights;

use spikelet::log::Console;
use spikelet_cli::failure::Failure;
use std::process::ExitCode;

/// The groups of commands.
#[derive(clap::Subcommand)]
pub enum Command {
    #[command(subcommand)]
    Case(case::Command),
    #[command(subcommand)]
    Events(events::Command),
    #[command(subcommand)]
    Weights(weights::Command),
    #[command(subcommand)]
    Neuron(neuron::Command),
    #[command(subcommand)]
    Surrogate(surrogate::Command),
    #[command(subcommand)]
    Kernel(kernel::Command),
    #[command(subcommand)]
    Bench(bench::Command),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Those of the command.
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::Case(command) => command.run(console),
            Self::Events(command) => command.run(console),
            Self::Weights(command) => command.run(console),
            Self::Neuron(neuron::Command::Docs(command)) => command.run(console),
            Self::Surrogate(command) => command.run(console),
            Self::Kernel(command) => command.run(console),
            Self::Bench(bench::Command::LinearLif(command)) => command.run(console),
        }
    }
}
