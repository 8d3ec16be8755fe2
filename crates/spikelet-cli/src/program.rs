//! The words with which this program was started: its path and arguments, or those of a host such as Python.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A program in whose process the commands run.
struct Host {
    /// The words that start the commands again, such as `python -m spikelet`.
    start: Vec<OsString>,
    /// The arguments after them.
    arguments: Vec<OsString>,
}

static HOST: OnceLock<Host> = OnceLock::new();

/// Sets the host, once a process: the words that start the commands again, and the arguments.
pub fn run_in(start: Vec<OsString>, arguments: Vec<OsString>) {
    let _ = HOST.set(Host { start, arguments });
}

/// The arguments, without the name of the program.
pub fn arguments() -> Vec<OsString> {
    match HOST.get() {
        Some(host) => host.arguments.clone(),
        None => std::env::args_os().skip(1).collect(),
    }
}

/// The program that starts the commands again, and the words before their arguments.
///
/// # Errors
/// When the path of this program is unknown.
pub fn start() -> io::Result<(PathBuf, Vec<OsString>)> {
    match HOST.get().and_then(|host| host.start.split_first()) {
        Some((program, words)) => Ok((PathBuf::from(program), words.to_vec())),
        None => Ok((std::env::current_exe()?, vec![])),
    }
}
