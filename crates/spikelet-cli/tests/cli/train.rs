//! Training and evaluation, with small networks.

use crate::common::{code, complaint, mentions, program, said, said_json, stderr};
use crate::small::{SMALL, said_in};

#[test]
fn a_network_is_trained_then_evaluated_from_its_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_string_lossy().into_owned();
    let lines = said_json(&[&["train", "--epochs", "2", "--out", &out], &SMALL[..]].concat());
    let events: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["event"].as_str())
        .collect();
    assert_eq!(events, ["start", "epoch", "epoch", "done"]);
    assert_eq!(lines[0]["train_images"], 256);
    assert!(folder.path().join("report.svg").exists());
    let report = lines[3]["report"].as_str().expect("a report");
    let page = std::fs::read_to_string(report).expect("a page");
    assert!(page.contains("\"command\":\"spikelet "));

    let best = folder
        .path()
        .join("best.safetensors")
        .to_string_lossy()
        .into_owned();
    let found = &said_json(&["eval", &best, "--test-images", "100"])[0];
    assert_eq!(found["dataset"], "synthetic digits");
    assert_eq!(found["accuracy"], lines[3]["best"]["test_accuracy"]);
    assert!(lines[3]["best"]["validation_accuracy"].is_number());
    assert!(lines[3]["highest_test_accuracy"].is_null());
}

#[test]
fn training_prints_a_few_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run").to_string_lossy().into_owned();
    let words = [
        "train",
        "--epochs",
        "1",
        "--out",
        &out,
        "--neuron",
        "plif",
        "--hidden",
        "16",
        "--threads",
        "2",
    ];
    let text = said(&[&words, &SMALL[..]].concat());
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("mnist-fc on synthetic digits (256 + 100) · cpu, 2 threads"),
        "{text}"
    );
    assert!(lines[1].starts_with("settings: "), "{text}");
    assert!(
        lines[2].starts_with("network: 12,706 parameters, hidden=16, neuron=plif("),
        "{text}"
    );
    let settings = lines.iter().take_while(|line| !line.starts_with("plan: "));
    let lines = &lines[settings.count() - 1..];
    assert_eq!(lines.len(), 8, "{text}");
    assert!(
        lines[1].starts_with("plan: ") && lines[1].contains("kernels a step"),
        "{text}"
    );
    assert!(lines[2].starts_with("epoch  1/1  loss "), "{text}");
    assert!(lines[3].starts_with("done in "), "{text}");
    assert!(
        lines[4].starts_with("best by validation: epoch 1 · validation accuracy "),
        "{text}"
    );
    assert!(
        lines[5].starts_with("checkpoint: ") && lines[5].ends_with("best.safetensors"),
        "{text}"
    );
    assert!(lines[6].starts_with("picture: "), "{text}");
    assert!(lines[7].starts_with("report: "), "{text}");
    // The same run again, with nothing left to do but say so.
    let again = said(&[&words, &SMALL[..], &["--resume"]].concat());
    assert!(again.contains("nothing to do"), "{again}");
    assert!(!again.contains("done in "), "{again}");
}

#[test]
fn a_missing_data_set_is_answered_with_the_searched_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().to_string_lossy().into_owned();
    let message = complaint(&["train", "--dataset", "mnist", "--data-dir", &dir], 1);
    assert!(
        message.contains("MNIST") && message.contains(&dir),
        "{message}"
    );
    let output = program(&["train", "--dataset", "fashion-mnist"])
        .env("SPIKELET_DATA", &dir)
        .output()
        .expect("it starts");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains(&dir), "{}", stderr(&output));
}

#[test]
fn a_batch_is_no_larger_than_the_training_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_string_lossy().into_owned();
    let small = ["--train-images", "10", "--test-images", "10", "-T", "2"];
    let words = [&["train", "--epochs", "1", "--out", &out], &small[..]].concat();
    mentions(
        &said(&words),
        &[
            "note: 9 samples a batch",
            "128 were asked for",
            "batch_size=9",
        ],
    );
    // The plan is that of the run, and the run is resumed with the same batches.
    let words = ["plan", "-T", "2", "--set", "data.train_images=10", "--json"];
    let plan: serde_json::Value = serde_json::from_str(&said(&words)).expect("JSON");
    assert_eq!(plan["settings"]["training"]["batch_size"], 9);
    let words = ["train", "--resume", &out, "--batch-size", "128"];
    mentions(&said(&words), &["nothing to do"]);
}

#[test]
fn a_network_is_trained_step_by_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let losses = |propagation: &str| -> Vec<f64> {
        let out = folder
            .path()
            .join(propagation)
            .to_string_lossy()
            .into_owned();
        let words = [
            "train",
            "--epochs",
            "1",
            "--out",
            &out,
            "--propagation",
            propagation,
        ];
        let lines = said_json(&[&words[..], &SMALL[..]].concat());
        assert_eq!(lines[0]["settings"]["training"]["propagation"], propagation);
        ["train_loss", "test_loss"]
            .map(|key| lines[1][key].as_f64().expect("a number"))
            .to_vec()
    };
    let expected = losses("layer-by-layer");
    for propagation in ["step-by-step", "step-by-step-unfused"] {
        for (a, b) in expected.iter().zip(losses(propagation)) {
            assert!((a - b).abs() < 1e-5 * a, "{propagation}: {a} {b}");
        }
    }
}

#[test]
fn a_run_that_does_not_fit_into_memory_is_an_error_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut words = vec!["train", "--time-steps", "4000000", "--batch-size", "100"];
    words.extend([
        "--train-images",
        "200",
        "--test-images",
        "100",
        "--device",
        "cpu",
    ]);
    let output = program(&words).current_dir(folder.path()).output();
    let output = output.expect("the program starts");
    let refused = stderr(&output);
    assert_eq!(code(&output), 1, "{refused}");
    assert!(!folder.path().join("runs").exists());
    mentions(&refused, &["GiB", "--batch-size", "--memory-budget"]);
}

#[test]
fn a_preset_prints_its_highest_test_accuracy_and_how_it_was_selected() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = [
        "train",
        "csnn",
        "--preset",
        "spikingjelly",
        "--dataset",
        "synthetic",
        "--channels",
        "2",
        "--epochs",
        "1",
    ];
    let text = said_in(folder.path(), &[&words[..], &SMALL[..]].concat());
    assert!(text.contains("selected on the test set"), "{text}");
    assert!(!text.contains("best by validation"), "{text}");
    assert!(text.contains("last.safetensors"), "{text}");
}
