//! `spikelet man`

use super::{examples, path_text};
use crate::Spikelet;
use crate::failure::Failure;
use crate::help::{self, Length, of_length};
use clap::{Command, CommandFactory};
use clap_mangen::roff::{Roff, bold, roman};
use serde_json::json;
use spikelet::log::Console;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write the manual pages, one for each command
///
/// The pages have all options and examples, as `--help-all` prints them.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet man ~/.local/share/man/man1" => "where `man spikelet-train` finds them",
])]
pub struct Man {
    /// Folder to write into; it is created if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let pages = write(&self.folder).map_err(|error| {
            Failure::other(
                format!(
                    "the manual pages cannot be written into {}: {error}",
                    self.folder.display()
                ),
                "name a folder in which you may create files",
            )
        })?;
        let paths: Vec<String> = pages.iter().map(|page| path_text(page)).collect();
        console.say_json(&json!({"folder": path_text(&self.folder), "pages": paths}));
        console.say(format!(
            "{} manual pages in {}",
            pages.len(),
            self.folder.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// Program and version, at the bottom of each page.
const SOURCE: &str = concat!("spikelet ", env!("CARGO_PKG_VERSION"));

/// Writes the pages of all commands.
fn write(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)?;
    let mut program = of_length(Spikelet::command(), Length::All).disable_help_subcommand(true);
    program.build();
    let commands = help::all(&program).into_iter();
    commands.map(|command| page(command, folder)).collect()
}

fn page(command: Command, folder: &Path) -> io::Result<PathBuf> {
    let examples = examples_of(&command);
    // clap_mangen leaves out the text of options that are not in `-h`.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let has_commands = command.has_subcommands();
    let man = clap_mangen::Man::new(command).source(SOURCE);
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if has_commands {
        man.render_subcommands_section(&mut text)?;
    }
    examples.to_writer(&mut text)?;
    let path = folder.join(man.get_filename());
    std::fs::write(&path, text)?;
    Ok(path)
}

/// The section of the examples: each command in bold, its purpose indented below.
fn examples_of(command: &Command) -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["EXAMPLES"]);
    let help = command.get_after_long_help().map(ToString::to_string);
    for line in help.unwrap_or_default().lines().skip(1) {
        match line.strip_prefix("      ") {
            Some(purpose) => section.text([roman(purpose)]),
            None => {
                let example = [bold(line.trim_start())];
                section.control("TP", []).text(example)
            }
        };
    }
    section
}
