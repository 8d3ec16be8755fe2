//! Training through a pipeline of CPU devices.

use crate::common::{complaint, said, said_json};
use std::path::Path;

const SMALL: [&str; 12] = [
    "--train-images",
    "128",
    "--test-images",
    "60",
    "--batch-size",
    "32",
    "--time-steps",
    "4",
    "--pipeline",
    "cpu:0,cpu:1",
    "--split-size",
    "16",
];

fn train(out: &Path, more: &[&str]) -> Vec<serde_json::Value> {
    let out = out.to_string_lossy().into_owned();
    let words = [&["train", "--out", &out], &SMALL[..], more].concat();
    said_json(&words)
}

#[test]
fn a_pipeline_trains_writes_a_timeline_and_prints_its_stages() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace.json");
    let words = ["--epochs", "2", "--trace", &trace.to_string_lossy()];
    let lines = train(folder.path(), &words);
    let pipeline = &lines[0]["pipeline"];
    let stages = pipeline["stages"].as_array().expect("stages");
    assert_eq!(stages.len(), 2);
    assert_eq!(stages[0]["devices"][0], "cpu:0");
    assert_eq!(lines[3]["event"], "done");
    assert!(folder.path().join("report.svg").exists());
    let text = std::fs::read_to_string(&trace).expect("the trace");
    let trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let done = events.iter().filter(|e| e["ph"] == "X").count();
    // Two stages forward and backward and the loss, for two micro-batches.
    assert_eq!(done, 10);
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    train(&whole, &["--epochs", "2", "--schedule", "constant"]);
    train(&parts, &["--epochs", "1", "--schedule", "constant"]);
    train(
        &parts,
        &["--epochs", "2", "--schedule", "constant", "--resume"],
    );
    let tensors = |out: &Path| {
        let read = spikelet::train::Checkpoint::read(out.join("last.safetensors"));
        read.expect("a checkpoint").tensors.tensors
    };
    assert_eq!(tensors(&whole), tensors(&parts));
}

#[test]
fn stages_with_several_devices_run_a_convolutional_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_string_lossy().into_owned();
    let text = said(&[
        "train",
        "csnn",
        "--channels",
        "4",
        "--hidden",
        "8",
        "--epochs",
        "1",
        "--out",
        &out,
        "--train-images",
        "64",
        "--test-images",
        "20",
        "--batch-size",
        "16",
        "--pipeline",
        "cpu:0+cpu:1,cpu:1",
        "--stages",
        "4",
        "--static-input",
    ]);
    assert!(text.contains("stage 0 on cpu:0 and cpu:1"), "{text}");
    assert!(text.contains("expected idle"), "{text}");
}

#[test]
fn invalid_pipelines_are_errors_that_name_the_cause() {
    for (words, expected) in [
        (
            &["train", "--pipeline", "cpu:0,cpu:1", "--stages", "3,3"][..],
            "ascending numbers",
        ),
        (
            &["train", "--pipeline", "cpu:0,cpu:1", "--stages", "9"],
            "ascending numbers",
        ),
        (
            &["train", "--pipeline", "cpu:0,cpu:1", "--time-chunk", "3"],
            "divisor",
        ),
        (&["train", "--pipeline", "cpu:0+cpu:0"], "twice"),
        (
            &["train", "--pipeline", "cpu:0,cpu:1,cpu:2,cpu:3,cpu:4,cpu:5"],
            "fewer stages",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().to_string_lossy().into_owned();
        let small = [
            "--train-images",
            "256",
            "--test-images",
            "20",
            "--out",
            &out,
        ];
        let message = complaint(&[words, &small[..]].concat(), 1);
        assert!(message.contains(expected), "{words:?}: {message}");
    }
    let small = ["--train-images", "256", "--test-images", "20"];
    let words = ["train", "--pipeline", "abacus,cpu:1"];
    let message = complaint(&[&words[..], &small].concat(), 2);
    assert!(
        message.contains("no device is called `abacus`"),
        "{message}"
    );
    let message = complaint(&["train", "--split-size", "4"], 2);
    assert!(message.contains("--pipeline"), "{message}");
}
