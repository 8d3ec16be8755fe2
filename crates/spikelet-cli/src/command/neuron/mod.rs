//! `spikelet neuron …`

mod list;
mod show;

pub use show::{say_surrogate, surrogate_json};

use super::examples;
use crate::failure::Failure;
use spikelet::log::Console;
use std::process::ExitCode;

/// List neurons and show their equations
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet neuron list" => "all neurons with their constants",
    "spikelet neuron show plif --reset-grad detach" => "its equations, forward and backward",
])]
pub enum Command {
    List(list::List),
    Show(show::Show),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::List(command) => command.run(console),
            Self::Show(command) => command.run(console),
        }
    }
}
