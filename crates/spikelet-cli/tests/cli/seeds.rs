//! `spikelet train --seeds`: a series of runs, and its continuation after `kill -9`.

use crate::common::{code, mentions, program, stderr, stdout};
use crate::small::{Ended, SMALL, complaint_in, said_in};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

/// The lines of JSON of an output.
pub fn lines(text: &str) -> Vec<Value> {
    let each = text.lines();
    each.map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

/// The lines with this event.
pub fn of_event(lines: &[Value], event: &str) -> Vec<Value> {
    let found = lines.iter().filter(|line| line["event"] == event);
    found.cloned().collect()
}

fn train<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let train = ["train", "--device", "cpu", "--threads", "1"];
    [&train[..], &SMALL[..], more].concat()
}

/// Starts a series and waits until a file has this number of lines.
pub fn started(folder: &Path, words: &[&str], log: &str, count: usize) -> Ended {
    let mut command = program(words);
    let command = command.current_dir(folder).stdout(Stdio::null());
    let child = Ended(command.spawn().expect("the program starts"));
    let log = folder.join(log);
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if text.lines().count() >= count {
            return child;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{words:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a run has a checkpoint of what it has trained by now. Checkpoints are written one after the other, while
/// it trains on: the first that appears may be older.
fn wait_for_checkpoint(run: &Path) {
    let last = || run.join("last.safetensors").metadata()?.modified();
    let begun = Instant::now();
    for _ in 0..2 {
        let before = last().ok();
        while last().ok() == before {
            assert!(begun.elapsed() < Duration::from_secs(120), "{run:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The bytes of all tensors of a checkpoint: what follows its header.
pub fn tensors(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).expect("a checkpoint");
    let length = bytes[..8].try_into().map(u64::from_le_bytes);
    let header = 8 + length.expect("a length") as usize;
    bytes[header..].to_vec()
}

fn modified(path: &Path) -> SystemTime {
    let found = path.metadata().and_then(|found| found.modified());
    found.expect("a file")
}

#[test]
fn seeds_are_trained_one_after_another_and_summarized() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let words = train(&["--seeds", "0..3", "--epochs", "2"]);
    let found = lines(&said_in(folder, &[&words[..], &["--json"]].concat()));
    for (event, count) in [
        ("series", 1),
        ("series_run", 3),
        ("start", 3),
        ("series_result", 3),
        ("series_done", 1),
    ] {
        let of = of_event(&found, event);
        assert_eq!(of.len(), count, "{event}");
        crate::json_page::check(&[&format!("`{event}`")], &of);
    }
    let done = &found[found.len() - 1];
    let accuracies: Vec<f64> = (done["runs"].as_array().expect("runs").iter())
        .map(|run| run["result"]["test_accuracy"].as_f64().expect("a number"))
        .collect();
    let mean = accuracies.iter().sum::<f64>() / 3.0;
    let squares: f64 = accuracies.iter().map(|x| (x - mean) * (x - mean)).sum();
    let close = |key: &str, expected: f64| {
        let found = done["test_accuracy"][key].as_f64().expect("a number");
        assert!((found - expected).abs() < 1e-12, "{key}: {found}");
    };
    close("mean", mean);
    close("standard_deviation", (squares / 2.0).sqrt());
    // Each run is that of the single seed.
    let single = train(&["--seed", "2", "--epochs", "2", "--out", "single", "--quiet"]);
    said_in(folder, &single);
    let series = folder.join("runs/mnist-fc/seeds/latest");
    let of_series = tensors(&series.join("seed-2/best.safetensors"));
    assert_eq!(of_series, tensors(&folder.join("single/best.safetensors")));
    // A finished series prints its results, and trains nothing.
    let last = series.join("seed-0/last.safetensors");
    let before = modified(&last);
    let text = said_in(folder, &["train", "--seeds", "0..3", "--resume"]);
    mentions(
        &text,
        &[
            "3 of 3 runs are completed",
            "accuracy of 3 seeds: validation",
            "±",
            "n − 1",
        ],
    );
    assert_eq!(modified(&last), before);
    // The commands for runs find them.
    mentions(
        &said_in(folder, &["runs"]),
        &["seed-0", "seed-2              2"],
    );
    mentions(&said_in(folder, &["watch", "runs/mnist-fc"]), &["seed-2"]);
}

#[test]
fn a_killed_series_is_resumed_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let words = |out: &'static str| {
        let more = [
            "--epochs",
            "48",
            "--seeds",
            "0..3",
            "--checkpoint-seconds",
            "0.01",
        ];
        [&train(&more)[..], &["--out", out]].concat()
    };
    let whole = lines(&said_in(folder, &[&words("a")[..], &["--json"]].concat()));
    let mut child = started(folder, &words("b"), "b/seed-1/epochs.jsonl", 1);
    wait_for_checkpoint(&folder.join("b/seed-1"));
    child.0.kill().expect("it runs");
    child.0.wait().expect("it ends");
    let of_first = modified(&folder.join("b/seed-0/last.safetensors"));
    assert!(!folder.join("b/seed-2").exists());
    let resumed = said_in(folder, &["train", "--resume", "b", "--json"]);
    let resumed = lines(&resumed);
    let completed = &of_event(&resumed, "series")[0]["completed"];
    assert_eq!(*completed, 1);
    // The interrupted run was resumed in the middle: it trained fewer epochs.
    let trained = &of_event(&resumed, "done")[0]["epochs_trained"];
    assert!(trained.as_u64().expect("a number") < 48, "{trained}");
    assert_eq!(
        modified(&folder.join("b/seed-0/last.safetensors")),
        of_first
    );
    for seed in 0..3 {
        for name in ["best", "last"] {
            let path =
                |series: &str| folder.join(format!("{series}/seed-{seed}/{name}.safetensors"));
            assert_eq!(tensors(&path("a")), tensors(&path("b")), "{seed}, {name}");
        }
    }
    let [a, b] = [&whole, &resumed].map(|lines| of_event(lines, "series_done")[0].clone());
    for key in ["validation_accuracy", "test_accuracy"] {
        assert_eq!(a[key], b[key]);
    }
}

#[test]
fn a_series_is_that_of_one_process_and_of_its_arguments() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let endless = train(&["--epochs", "100000", "--seeds", "3,4", "--out", "a"]);
    let mut child = started(folder, &endless, "a/seed-3/epochs.jsonl", 1);
    let second = complaint_in(folder, &["train", "--resume", "a"]);
    mentions(&second, &["a is in use", "process"]);
    let again = complaint_in(folder, &endless);
    mentions(&again, &["a is in use"]);
    let id = child.0.id().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &id])
        .status();
    assert!(asked.expect("kill starts").success());
    let status = child.0.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));

    mentions(
        &complaint_in(folder, &endless),
        &["a holds a series of runs", "--resume"],
    );
    let other = ["train", "--resume", "a", "--epochs", "3"];
    mentions(
        &complaint_in(folder, &other),
        &["--epochs=3 is given", "--epochs=100000"],
    );
    let other = ["train", "--resume", "a", "--seeds", "3..6"];
    mentions(
        &complaint_in(folder, &other),
        &["seeds is [3,4] in the series and [3,4,5] here"],
    );
    let into = train(&["--epochs", "1", "--out", "a"]);
    mentions(&complaint_in(folder, &into), &["a holds a series of runs"]);
    let single = train(&["--epochs", "1", "--out", "b", "--quiet"]);
    said_in(folder, &single);
    let other = ["train", "--resume", "b", "--seeds", "0..2"];
    mentions(
        &complaint_in(folder, &other),
        &["there is no series of runs in b"],
    );
    mentions(
        &complaint_in(folder, &["train", "--seeds", "0..0"]),
        &["there is no seed in 0..0"],
    );
}

#[test]
fn a_diverged_run_is_named_and_not_in_the_mean() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = train(&[
        "--epochs", "1", "--seeds", "0,1", "--lr", "1e38", "--out", "a",
    ]);
    let output = program(&words).current_dir(folder.path()).output();
    let output = output.expect("the program starts");
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    mentions(
        &stderr(&output),
        &["2 of 2 runs was not finite", "--clip-norm"],
    );
    mentions(&stdout(&output), &["diverged: training: "]);
}

#[test]
fn the_runs_of_a_series_can_have_several_ranks() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let more = [
        "--epochs",
        "1",
        "--seeds",
        "0..2",
        "--data-parallel",
        "2",
        "--out",
        "a",
    ];
    let found = lines(&said_in(folder, &[&train(&more)[..], &["--json"]].concat()));
    let ranks: Vec<Value> = (of_event(&found, "start").iter())
        .map(|start| start["ranks"].clone())
        .collect();
    assert_eq!(ranks, [2, 2]);
    assert_eq!(
        of_event(&found, "series_done")[0]["test_accuracy"]["runs"],
        2
    );
}

#[test]
fn a_changed_experiment_file_is_another_series() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let text = "[network]\nname = \"mnist-fc\"\n[training]\nepochs = 1\n";
    std::fs::write(folder.join("run.toml"), text).expect("written");
    said_in(
        folder,
        &train(&["run.toml", "--seeds", "0..2", "--out", "a", "--quiet"]),
    );
    let again = said_in(folder, &["train", "--resume", "a"]);
    mentions(&again, &["2 of 2 runs are completed"]);
    let changed = text.replace("epochs = 1", "epochs = 2");
    std::fs::write(folder.join("run.toml"), changed).expect("written");
    mentions(
        &complaint_in(folder, &["train", "--resume", "a"]),
        &[
            "line 4 of the file of the experiment is `epochs = 1` in the series and `epochs = 2` here",
        ],
    );
}
