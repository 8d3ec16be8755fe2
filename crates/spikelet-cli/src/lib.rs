//! The `spikelet` program, and the parts of it that the developers' program `spikelet-dev` shares.
//! It is not a public API and has no stability guarantee.
#![allow(
    missing_debug_implementations,
    missing_docs,
    reason = "the parts of a program, not an API"
)]

pub mod args;
mod cli;
pub mod command;
mod diagram;
pub mod equation;
pub mod failure;
pub mod help;
mod machine;
pub mod program;
mod progress;
pub mod table;

pub use cli::Spikelet;

use clap::Parser;
use clap::error::Error;
use failure::Failure;
use help::Length;
use spikelet::log::{Console, Output};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// The output options of all commands.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct OutputArgs {
    /// Print JSON, one object per line
    ///
    /// The keys are listed in the guide, docs/guide/json.md.
    #[arg(long, global = true, conflicts_with = "quiet", help_heading = "Output")]
    json: bool,

    /// Print errors only
    #[arg(long, short, global = true, help_heading = "Output")]
    quiet: bool,
}

impl OutputArgs {
    fn output(self) -> Output {
        match (self.json, self.quiet) {
            (true, _) => Output::Json,
            (_, true) => Output::Quiet,
            _ => Output::Text,
        }
    }
}

/// A program's command line.
pub trait Cli: Parser {
    /// The output options.
    fn output(&self) -> OutputArgs;

    /// Runs the command.
    ///
    /// # Errors
    /// Those of the command.
    fn run(self, console: &Console) -> Result<ExitCode, Failure>;
}

/// Parses the command line, runs the command, prints its error.
pub fn main<C: Cli>() -> ExitCode {
    spikelet::files::refuse_instead_of_signal();
    let cli = match parse::<C>() {
        Ok(cli) => cli,
        // clap returns `--help`, `--help-all` and `--version` as errors, too.
        Err(error) => return printed(error.print()).unwrap_or(usage(&error)),
    };
    let console = Console::new(cli.output().output());
    match cli.run(&console) {
        Ok(code) => printed(Console::printed()).unwrap_or(code),
        Err(failure) => failure.print(),
    }
}

fn parse<C: Cli>() -> Result<C, Error> {
    let arguments = program::arguments();
    let all = arguments.iter().any(|word| word == "--help-all");
    let length = if all { Length::All } else { Length::Common };
    let command = help::of_length(C::command(), length);
    let name = OsString::from(command.get_name());
    let mut matches = command.try_get_matches_from([vec![name], arguments].concat())?;
    C::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut C::command()))
}

fn usage(error: &Error) -> ExitCode {
    ExitCode::from(error.exit_code() as u8)
}

/// The exit code if the output could not be printed.
fn printed(result: io::Result<()>) -> Option<ExitCode> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Some(Failure::from(error).print()),
        _ => None,
    }
}
