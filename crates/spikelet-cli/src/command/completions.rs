//! `spikelet completions`

use super::examples;
use crate::Spikelet;
use crate::failure::Failure;
use crate::help::{Length, of_length};
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use serde_json::json;
use spikelet::log::Console;
use std::process::ExitCode;

/// Print a script that completes commands, options and values in a shell
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet completions bash > ~/.local/share/bash-completion/completions/spikelet" => "bash, with the package bash-completion",
    "spikelet completions zsh > ~/.zfunc/_spikelet" => "zsh, with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc",
    "spikelet completions fish > ~/.config/fish/completions/spikelet.fish" => "fish",
])]
pub struct Completions {
    /// Shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

impl Completions {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        let mut command = of_length(Spikelet::command(), Length::All);
        generate(self.shell, &mut command, "spikelet", &mut script);
        let script = String::from_utf8_lossy(&script);
        console.say_json(&json!({"shell": self.shell.to_string(), "script": script}));
        console.say(script.trim_end());
        Ok(ExitCode::SUCCESS)
    }
}
