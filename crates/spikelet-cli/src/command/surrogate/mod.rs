//! `spikelet surrogate …`

mod list;
mod show;

use super::examples;
use crate::failure::Failure;
use spikelet::log::Console;
use std::process::ExitCode;

/// List surrogate gradients and show their formulas
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet surrogate list" => "all surrogates with their constants",
    "spikelet surrogate show atan --set alpha=4" => "its derivative and its primitive",
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
