//! `spikelet watch` with and without a terminal.

use crate::PROGRAM;
use crate::common::{mentions, program};
use crate::small::{Ended, SMALL, complaint_in, said_in};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn without_a_terminal_a_summary_is_printed_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    complaint_in(folder, &["watch"]);
    let train = [
        "train",
        "--epochs",
        "2",
        "--schedule",
        "constant",
        "--quiet",
    ];
    said_in(folder, &[&train[..], &SMALL[..]].concat());
    let text = said_in(folder, &["watch"]);
    mentions(
        &text,
        &[
            "mnist-fc",
            "finished",
            "epoch 2/2",
            "train",
            "accuracy",
            "best       validation accuracy",
        ],
    );
    let text = said_in(folder, &["watch", "runs/mnist-fc/latest", "--json"]);
    let line = serde_json::from_str(&text).expect("one line of JSON");
    crate::json_page::check(&["`run`"], &[line]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_running_process_is_watched_in_a_pseudo_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let train = [
        "train",
        "--epochs",
        "100000",
        "--schedule",
        "constant",
        "--quiet",
    ];
    let mut train = program(&[&train[..], &SMALL[..], &["--out", "runs/a"]].concat());
    let train = train.current_dir(folder.path()).spawn();
    let _train = Ended(train.expect("the program starts"));
    let log = folder.path().join("runs/a/epochs.jsonl");
    let begun = Instant::now();
    while !std::fs::read(&log).is_ok_and(|text| !text.is_empty()) {
        assert!(begun.elapsed() < Duration::from_secs(120), "no epoch");
        std::thread::sleep(Duration::from_millis(20));
    }
    // `script` of util-linux runs a command in a pseudo-terminal.
    let line = format!("stty rows 30 cols 100; exec {PROGRAM} watch runs/a");
    let mut script = Command::new("script");
    let script = script.args(["-qec", &line, "/dev/null"]);
    script.current_dir(folder.path()).env("TERM", "xterm");
    let script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut script = Ended(script.expect("`script` starts"));
    let mut keys = script.0.stdin.take().expect("piped");
    let mut output = script.0.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![];
        output.read_to_end(&mut bytes).map(|_| bytes)
    });
    // Two readings of the folder, the next page, the end.
    std::thread::sleep(Duration::from_millis(2500));
    keys.write_all(b"\x1b[C").expect("it reads");
    std::thread::sleep(Duration::from_millis(500));
    keys.write_all(b"q").expect("it reads");
    let status = script.0.wait().expect("it ends");
    let bytes = reader.join().expect("no panic").expect("readable");
    let text = String::from_utf8_lossy(&bytes);
    assert!(status.success(), "{text}");
    mentions(
        &text,
        &[
            "running, process",
            "loss",
            "accuracy",
            "epoch",
            "memory",
            "left",
            "quit",
        ],
    );
    // The screen before is restored.
    assert!(
        text.contains("\x1b[?1049h") && text.contains("\x1b[?1049l"),
        "{text}"
    );
}
