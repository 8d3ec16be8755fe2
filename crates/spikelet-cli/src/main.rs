//! The `spikelet` program: one file for each command under `command`.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong arguments, 4 another rank has ended the run,
//! 130 interrupted. `spikelet diff`: 0 equal, 1 different, 2 not compared.

use spikelet_cli::Spikelet;
use std::process::ExitCode;

fn main() -> ExitCode {
    spikelet_cli::main::<Spikelet>()
}
