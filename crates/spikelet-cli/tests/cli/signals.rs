//! Requests to end a run, and signals that the program was started to ignore.

use crate::common::{code, program, stderr, stdout};
use spikelet::train::Checkpoint;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The run as a terminal starts it: with signals that do what they usually do.
const USUAL: &str = "exec env --default-signal=HUP,INT,TERM";

/// A run with more epochs than it can finish, started by a shell with `before` in front of it.
fn endless(before: &str, folder: &Path, more: &[&str]) -> Child {
    let words = "--hidden 24 --time-steps 4 --train-images 512 --test-images 100 --epochs 100000 \
                 --checkpoint-seconds 0.05";
    started(before, folder, words, more)
}

/// A run of which there is a checkpoint, started by a shell with `before` in front of it.
fn started(before: &str, folder: &Path, words: &str, more: &[&str]) -> Child {
    let out = folder.join("run");
    let out = out.to_str().expect("a path in UTF-8");
    let all = [
        "train --device cpu --threads 1 --batch-size 16",
        words,
        "--out",
    ]
    .join(" ");
    let words: Vec<&str> = all.split_whitespace().chain([out]).collect();
    let run = program(&[&words, more].concat());
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{before} \"$0\" \"$@\"")])
        .arg(run.get_program())
        .args(run.get_args())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let child = command.spawn().expect("a shell starts");
    let last = folder.join("run/last.safetensors");
    let began = Instant::now();
    while !last.exists() {
        assert!(began.elapsed() < Duration::from_secs(90), "no checkpoint");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

fn signal(name: &str, child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([name, &id]).status();
    assert!(sent.expect("kill starts").success());
}

fn is_over(child: &mut Child) -> bool {
    child.try_wait().expect("a child").is_some()
}

fn is_interrupted(output: &Output) {
    assert_eq!(code(output), 130, "{}", stderr(output));
    assert!(
        stdout(output).contains("interrupted after"),
        "{}",
        stdout(output)
    );
}

#[test]
fn ignored_signals_stay_ignored() {
    for (trap, ignored, more) in [
        ("trap '' HUP; exec", "-HUP", &[][..]),
        ("trap '' INT; exec", "-INT", &[]),
        ("trap '' INT HUP; exec", "-HUP", &["--data-parallel", "2"]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut run = endless(trap, folder.path(), more);
        signal(ignored, &run);
        std::thread::sleep(Duration::from_secs(1));
        assert!(!is_over(&mut run), "{ignored} ends {more:?}");
        signal("-TERM", &run);
        is_interrupted(&run.wait_with_output().expect("it ends"));
    }
}

#[test]
fn each_termination_signal_saves_the_run() {
    for request in ["-INT", "-TERM", "-HUP"] {
        let folder = tempfile::tempdir().expect("a folder");
        let run = endless(USUAL, folder.path(), &[]);
        signal(request, &run);
        is_interrupted(&run.wait_with_output().expect("it ends"));
    }
}

#[test]
fn signals_that_arrive_together_are_one_request() {
    for requests in [["-INT", "-TERM"], ["-INT", "-INT"], ["-TERM", "-TERM"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let run = endless(USUAL, folder.path(), &[]);
        let last = folder.path().join("run/last.safetensors");
        std::fs::remove_file(&last).expect("the last checkpoint");
        let id = run.id();
        let [first, second] = requests;
        let both = format!("kill {first} {id}; kill {second} {id}");
        let sent = Command::new("sh").args(["-c", &both]).status();
        assert!(sent.expect("a shell starts").success());
        is_interrupted(&run.wait_with_output().expect("it ends"));
        assert!(last.exists(), "{requests:?}");
    }
}

#[test]
fn a_termination_signal_interrupts_an_evaluation() {
    // Two steps, of which one is done when there is a checkpoint, then an evaluation that takes more
    // than a hundred times as long as a step, however slow the machine is.
    let words = "--hidden 1024 --time-steps 128 --validation 0 --test-images 40000 --eval-batch-size 10 \
                 --epochs 1 --checkpoint-seconds 1e-6";
    let alone = ["--train-images", "32"];
    let ranks = ["--train-images", "64", "--data-parallel", "2"];
    for more in [&alone[..], &ranks] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut run = started(USUAL, folder.path(), words, more);
        std::thread::sleep(Duration::from_secs(2));
        assert!(!is_over(&mut run), "the evaluation is too short");
        let asked = Instant::now();
        signal("-INT", &run);
        let output = run.wait_with_output().expect("it ends");
        assert!(asked.elapsed() < Duration::from_secs(20), "{more:?}");
        is_interrupted(&output);
        assert!(stdout(&output).contains("interrupted after 0 epochs"));
        let last = folder.path().join("run/last.safetensors");
        let progress = Checkpoint::read(&last).expect("a checkpoint").progress;
        assert_eq!((progress.epoch, progress.batch), (0, 2), "{more:?}");
    }
}
