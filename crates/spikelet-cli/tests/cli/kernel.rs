//! `spikelet kernel …`, which starts `spikelet-dev`.
#![cfg(unix)]

use crate::common::{code, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// The program alone in a folder, or with a `spikelet-dev` that prints its arguments.
fn run(with_dev: bool, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("spikelet");
    fs::copy(crate::PROGRAM, &own).expect("a copy");
    if with_dev {
        let dev = folder.path().join("spikelet-dev");
        fs::write(&dev, "#!/bin/sh\necho \"$@\"\nexit 2\n").expect("written");
        fs::set_permissions(&dev, fs::Permissions::from_mode(0o755)).expect("set");
    }
    let mut command = Command::new(own);
    command.args(words).env("PATH", "");
    command.output().expect("the program starts")
}

#[test]
fn the_developers_program_gets_all_arguments_and_its_exit_code_is_returned() {
    for words in [
        "kernel show --neuron lif --json",
        "--json kernel show --help",
    ] {
        let output = run(true, &words.split(' ').collect::<Vec<_>>());
        assert_eq!((code(&output), stdout(&output)), (2, format!("{words}\n")));
    }
}

#[test]
fn without_the_developers_program_the_error_says_how_to_install_it() {
    let output = run(false, &["kernel", "show"]);
    assert_eq!(code(&output), 1);
    let message = stderr(&output);
    assert!(message.contains("cargo install --git"), "{message}");
}
