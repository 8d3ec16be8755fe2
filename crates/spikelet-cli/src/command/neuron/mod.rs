//! `spikelet neuron …`

mod diff;
mod docs;
mod list;
mod run;
mod show;

pub use show::{say_surrogate, surrogate_json};

use super::examples;
use crate::failure::Failure;
use spikelet::log::Console;
use std::process::ExitCode;

/// List, explain, run and compare neurons
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet neuron list" => "all neurons with their constants",
    "spikelet neuron show plif --reset-grad detach" => "its equations, forward and backward",
    "spikelet neuron run --case case.safetensors --out ours.safetensors" => "what it makes of a recorded input",
    "spikelet neuron docs --out docs/neurons.md" => "a page on all of them",
    "spikelet neuron diff ours.safetensors case.safetensors --tolerance 1e-6" => "where two results part",
])]
pub enum Command {
    List(list::List),
    Show(show::Show),
    Run(run::Run),
    Diff(diff::Diff),
    Docs(docs::Docs),
}

impl Command {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::List(command) => command.run(console),
            Self::Show(command) => command.run(console),
            Self::Run(command) => command.run(console),
            Self::Diff(command) => command.run(console),
            Self::Docs(command) => command.run(console),
        }
    }
}
