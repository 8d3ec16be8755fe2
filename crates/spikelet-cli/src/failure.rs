//! Failures of commands.

use anstyle::AnsiColor;
use spikelet::distributed::{ENDED_BY_ANOTHER_RANK, RankError};
use spikelet::schema::UnknownName;
use spikelet::train::recording::RecordingError;
use spikelet::{problem_and_help, terminal};
use std::io::Write;
use std::process::ExitCode;

/// The exit code of a program that Ctrl-C ended, as shells report it.
pub const INTERRUPTED: u8 = 130;

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An error of the library.
    #[error(transparent)]
    Library(Box<spikelet::Error>),
    /// A source does not compile, or there is no compiler.
    #[error(transparent)]
    Compiler(#[from] spikelet_cuda::CompileError),
    /// Standard output could not be written.
    #[error(
        "standard output cannot be written: {0}\n  help: the output is lost; if it is \
         redirected to a file, free some space and run the command again"
    )]
    Output(#[from] std::io::Error),
    /// A wrong argument that clap does not detect.
    #[error("{problem}\n  help: {help}")]
    Argument {
        /// What was given and what was expected.
        problem: String,
        /// What to do.
        help: String,
    },
    /// An error that this program detects.
    #[error("{problem}\n  help: {help}")]
    Other {
        /// What happened.
        problem: String,
        /// What to do.
        help: String,
    },
}

impl From<spikelet::Error> for Failure {
    fn from(error: spikelet::Error) -> Self {
        Self::Library(Box::new(error))
    }
}

impl From<spikelet::document::DocumentError> for Failure {
    fn from(error: spikelet::document::DocumentError) -> Self {
        spikelet::Error::from(error).into()
    }
}

impl From<UnknownName> for Failure {
    fn from(error: UnknownName) -> Self {
        Self::argument(error.problem(), error.help())
    }
}

impl From<spikelet::graph::Error> for Failure {
    fn from(error: spikelet::graph::Error) -> Self {
        spikelet::Error::from(error).into()
    }
}

impl From<spikelet_events::Error> for Failure {
    fn from(error: spikelet_events::Error) -> Self {
        let text = error.to_string();
        let (problem, help) = problem_and_help(&text);
        Self::other(problem, help.unwrap_or_default())
    }
}

impl From<spikelet_weights::Error> for Failure {
    fn from(error: spikelet_weights::Error) -> Self {
        spikelet_nir::Error::from(error).into()
    }
}

impl From<spikelet_nir::Error> for Failure {
    fn from(error: spikelet_nir::Error) -> Self {
        let text = error.to_string();
        let (problem, help) = problem_and_help(&text);
        Self::other(problem, help.unwrap_or_default())
    }
}

impl Failure {
    /// A [`Failure::Argument`].
    pub fn argument(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Argument {
            problem: problem.into(),
            help: help.into(),
        }
    }

    /// A [`Failure::Other`].
    pub fn other(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Other {
            problem: problem.into(),
            help: help.into(),
        }
    }

    /// A [`Failure::Argument`] from an error of the library.
    pub fn wrong(error: &spikelet::Error) -> Self {
        let text = error.to_string();
        let (problem, help) = problem_and_help(&text);
        Self::argument(problem, help.unwrap_or_default())
    }

    /// Prints the message on standard error and gives the exit code.
    pub fn print(&self) -> ExitCode {
        self.say();
        ExitCode::from(self.code())
    }

    /// Prints the message on standard error.
    pub fn say(&self) {
        let style = AnsiColor::Red.on_default().bold();
        // A closed standard error cannot be reported anywhere.
        let text = terminal::escaped_but(&self.to_string(), &[]);
        let _ = writeln!(anstream::stderr(), "{style}error:{style:#} {text}");
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Argument { .. } => 2,
            Self::Library(error)
                if matches!(error.downcast_ref(), Some(RecordingError::Interrupted)) =>
            {
                INTERRUPTED
            }
            Self::Library(error)
                if error.downcast_ref().is_some_and(|end: &RankError| !end.own) =>
            {
                ENDED_BY_ANOTHER_RANK
            }
            _ => 1,
        }
    }
}
