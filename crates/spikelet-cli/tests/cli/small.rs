//! Small runs in a folder of their own.

use crate::common::{code, program, stderr, stdout};
use std::process::Child;

/// Ends the process of a test, also one that fails.
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Options of a run that takes a second.
pub const SMALL: [&str; 8] = [
    "--train-images",
    "256",
    "--test-images",
    "100",
    "--batch-size",
    "64",
    "--time-steps",
    "4",
];

/// The standard output of a run in this folder, which must succeed.
pub fn said_in(folder: &std::path::Path, words: &[&str]) -> String {
    let output = program(words).current_dir(folder).output();
    let output = output.expect("the program starts");
    assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
    stdout(&output)
}

/// The message of a command that fails in this folder.
pub fn complaint_in(folder: &std::path::Path, words: &[&str]) -> String {
    let output = program(words).current_dir(folder).output();
    let output = output.expect("the program starts");
    assert_ne!(code(&output), 0, "{words:?}");
    stderr(&output)
}
