//! Running the program as users do. Shared by the tests of `spikelet` and `spikelet-dev`, whose
//! `main.rs` each name the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program, in surroundings that do not depend on whose machine this is.
pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(arguments);
    let variables = ["SPIKELET_DATA", "NO_COLOR", "COLUMNS", "RUST_BACKTRACE"];
    let launchers = [
        "RANK",
        "WORLD_SIZE",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "SLURM_PROCID",
    ];
    for variable in variables.into_iter().chain(launchers) {
        command.env_remove(variable);
    }
    command.env("SPIKELET_GEMM", "gemm").env("TERM", "xterm");
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Output {
    program(arguments).output().expect("the program starts")
}

/// Its exit code.
pub fn code(output: &Output) -> i32 {
    output.status.code().expect("it was not killed")
}

/// The standard output of a run that must succeed.
pub fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(code(&output), 0, "{arguments:?}: {}", stderr(&output));
    assert_eq!(stderr(&output), "", "{arguments:?}");
    stdout(&output)
}

/// Its lines of JSON, after it succeeded.
pub fn said_json(arguments: &[&str]) -> Vec<serde_json::Value> {
    let text = said(&[arguments, &["--json"]].concat());
    text.lines()
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// The message of a run that must fail with this code, as people read it.
pub fn complaint(arguments: &[&str], expected: i32) -> String {
    let output = run(arguments);
    let message = stderr(&output);
    assert_eq!(code(&output), expected, "{arguments:?}: {message}");
    assert!(message.starts_with("error: "), "{arguments:?}: {message}");
    assert!(!message.contains("panicked"), "{arguments:?}: {message}");
    message
}

/// Checks that a message names all of these.
pub fn mentions(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// A reference case of the workspace.
pub fn golden(name: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    folder
        .join(format!("{name}.safetensors"))
        .to_string_lossy()
        .into_owned()
}
