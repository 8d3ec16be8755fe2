//! The program `spikelet` in a process of Python.

use pyo3::prelude::*;
use spikelet_cli::{Spikelet, main, program};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs a command line; returns its exit code. `start` are the words that start it again in another process.
#[pyfunction]
pub(super) fn command_line(py: Python<'_>, start: Vec<OsString>, arguments: Vec<OsString>) -> u8 {
    program::run_in(start, arguments);
    let code = py.detach(main::<Spikelet>);
    // An exit code cannot be read, but compared.
    (0..=u8::MAX)
        .find(|number| ExitCode::from(*number) == code)
        .unwrap_or(1)
}
