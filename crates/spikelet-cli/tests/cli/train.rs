//! Training, evaluation, plans and measurements, all of them small.

use crate::common::{code, complaint, program, run, said, said_json, stderr, stdout};

const SMALL: [&str; 8] = [
    "--train-images",
    "256",
    "--test-images",
    "100",
    "--batch-size",
    "64",
    "--time-steps",
    "4",
];

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
fn training_says_what_it_does_in_a_few_lines() {
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
    assert!(lines[1].starts_with("network: "), "{text}");
    assert!(lines[2].starts_with("settings: "), "{text}");
    let settings = lines.iter().take_while(|line| !line.starts_with("plan: "));
    let lines = &lines[settings.count() - 1..];
    assert_eq!(lines.len(), 7, "{text}");
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
    // The same run again, with nothing left to do but say so.
    let again = said(&[&words, &SMALL[..], &["--resume"]].concat());
    assert!(
        again.contains("nothing to do: the run has had its 1 epoch;"),
        "{again}"
    );
    assert!(!again.contains("done in "), "{again}");
}

#[test]
fn a_data_set_that_is_not_there_is_answered_with_the_folders_that_were_searched() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().to_string_lossy().into_owned();
    let message = complaint(&["train", "--dataset", "mnist", "--data-dir", &dir], 1);
    assert!(
        message.contains("MNIST is not complete") && message.contains(&dir),
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
fn a_batch_larger_than_the_training_set_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_string_lossy().into_owned();
    let message = complaint(
        &[
            "train",
            "--train-images",
            "10",
            "--test-images",
            "10",
            "--out",
            &out,
        ],
        1,
    );
    assert!(
        message.contains("the training set has 9 images"),
        "{message}"
    );
}

#[test]
fn a_plan_lists_its_kernels_and_their_times() {
    let text = said(&[
        "plan",
        "mnist-fc",
        "--batch-size",
        "8",
        "--time-steps",
        "2",
        "--profile",
        "2",
    ]);
    for part in [
        "kernels",
        "lif_grad",
        "fc.1",
        "∂ matmul",
        "GFLOP/s",
        "one step: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let plan = &said_json(&["plan", "--batch-size", "8", "--preset", "spikingflow"])[0];
    assert_eq!(plan["settings"]["time_steps"], 50);
    assert_eq!(plan["settings"]["batch_size"], 8);
    assert!(
        plan["kernels"]
            .as_array()
            .is_some_and(|k| k.iter().any(|k| k["name"] == "soft_pulse_lif_grad"))
    );
    assert!(plan["peak_bytes"].as_u64() > Some(0));
    assert!(plan["run_peak_bytes"].as_u64() >= plan["peak_bytes"].as_u64());
}

#[test]
fn a_neurons_passes_are_measured_against_a_copy() {
    let words = [
        "bench",
        "neuron",
        "--time-steps",
        "3",
        "--neurons",
        "1000",
        "--repeats",
        "2",
        "--threads",
        "1",
    ];
    let lines = said_json(&words);
    let names: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["name"].as_str())
        .collect();
    let expected = [
        "copy",
        "lif_forward_step_by_step_unfused",
        "lif_forward_backward_step_by_step_unfused",
        "lif_forward_step_by_step",
        "lif_forward_backward_step_by_step",
        "lif_forward",
        "lif_forward_backward",
    ];
    assert_eq!(names, expected);
    let number = |k: usize, key: &str| lines[k][key].as_f64().expect("a number");
    // 3000 elements, and the reset value, a scalar.
    assert!((24_000.0..24_100.0).contains(&number(5, "bytes")));
    assert!((60_000.0..60_100.0).contains(&number(6, "bytes")));
    assert!(number(1, "bytes") > number(3, "bytes") && number(3, "bytes") > number(5, "bytes"));
    // The last step's potential is read by nobody; the reset value is a kernel of its own only
    // where neurons are.
    assert_eq!((number(1, "kernels"), number(3, "kernels")), (8.0, 4.0));
    for (k, line) in lines.iter().enumerate() {
        assert!(number(k, "median_ms") > 0.0 && number(k, "repeats") >= 2.0);
        assert!(k == 0 || line["copy_share"].as_f64() > Some(0.0));
    }

    let text = said(
        &[
            &words[..],
            &[
                "--neuron",
                "plif",
                "--dtype",
                "f64,f32,f16",
                "--surrogate",
                "poisson_pass",
                "--propagation",
                "layer-by-layer",
            ],
        ]
        .concat(),
    );
    assert!(
        text.contains("layer-by-layer  + backward") && text.contains("of copy"),
        "{text}"
    );
    assert!(!text.contains("step-by-step"), "{text}");
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
        assert_eq!(
            lines[0]["settings"]["propagation"],
            propagation.replace('-', "_")
        );
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
fn a_training_step_is_measured() {
    let words = [
        "bench",
        "train",
        "mnist-fc",
        "--batch-size",
        "4",
        "--time-steps",
        "2",
        "--repeats",
        "2",
    ];
    let lines = said_json(&words);
    assert_eq!(lines[0]["name"], "copy");
    let line = &lines[1];
    assert_eq!(line["name"], "mnist_fc_step");
    assert!(line["median_ms"].as_f64() > Some(0.0));
    let text = said(&words);
    assert!(
        text.contains("2 time steps, batches of 4") && text.contains("ms a step"),
        "{text}"
    );
    assert!(stdout(&program(&words).arg("--quiet").output().expect("it starts")).is_empty());
}

#[test]
fn a_plan_is_shown_of_what_no_machine_can_hold() {
    let words = ["plan", "cifar10-net", "--batch-size", "1000000"];
    for device in [["--device", "cpu"], ["--arch", "9.0"]] {
        // More elements than a GPU can count are refused instead.
        let words = [&words[..2], &device[..]].concat();
        said(&words);
    }
    let plan = &said_json(&[&words[..], &["--device", "cpu"]].concat())[0];
    assert!(plan["peak_bytes"].as_u64() > Some(1 << 40), "{plan}");
}

#[test]
fn a_run_that_does_not_fit_is_refused_at_once_and_leaves_nothing() {
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
    for part in [
        "the training step needs",
        "GiB",
        "--batch-size",
        "--memory-budget",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
}

#[test]
fn sizes_that_are_measured_are_shown_when_a_later_one_does_not_fit() {
    let mut words = vec!["bench", "infer", "mnist-fc", "--batch-sizes", "1,100000000"];
    words.extend(["--time-steps", "2", "--repeats", "3", "--device", "cpu"]);
    let output = run(&words);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let needs = "a forward pass of 100000000 images needs";
    assert!(stderr(&output).contains(needs), "{}", stderr(&output));
    let table = stdout(&output);
    let row = |line: &str| line.trim_start().starts_with("1 ");
    assert!(table.contains("img/s") && table.lines().any(row), "{table}");
}

/// What the program prints in this folder, after it succeeded.
fn said_in(folder: &std::path::Path, words: &[&str]) -> String {
    let output = program(words).current_dir(folder).output();
    let output = output.expect("the program starts");
    assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
    stdout(&output)
}

/// The message of a command that fails in this folder.
fn complaint_in(folder: &std::path::Path, words: &[&str]) -> String {
    let output = program(words).current_dir(folder).output();
    let output = output.expect("the program starts");
    assert_ne!(code(&output), 0, "{words:?}");
    stderr(&output)
}

#[test]
fn each_run_has_a_folder_of_its_own_and_the_latest_is_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let refused = complaint_in(folder, &["train", "--resume"]);
    assert!(
        refused.contains("there is no run in runs/mnist-fc"),
        "{refused}"
    );

    let once = ["train", "--epochs", "1", "--schedule", "constant"];
    let train = [&once[..], &SMALL[..]].concat();
    said_in(folder, &train);
    said_in(folder, &[&train[..], &["--seed", "5"]].concat());
    let runs = folder.join("runs/mnist-fc");
    let mut names: Vec<String> = std::fs::read_dir(&runs)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(
        names[0].ends_with("-001") && names[1].ends_with("-002"),
        "{names:?}"
    );
    assert_eq!(names[2], "latest");
    let read = |run: &str| {
        let path = runs.join(run).join("last.safetensors");
        spikelet::train::Checkpoint::read(&path).expect("a checkpoint")
    };
    assert_eq!(
        (read("latest").settings.seed, read(&names[0]).settings.seed),
        (5, 0)
    );

    // Network, settings and data are those of the run.
    said_in(folder, &["train", "--resume", "--epochs", "2"]);
    assert_eq!(read(&names[1]).progress.epoch, 2);
    let first = format!("runs/mnist-fc/{}", names[0]);
    said_in(folder, &["train", "--resume", &first, "--epochs", "3"]);
    assert_eq!(read(&names[0]).progress.epoch, 3);
    let file = format!("{first}/last.safetensors");
    said_in(folder, &["train", "--epochs", "4", "--resume", &file]);
    assert_eq!(read(&names[0]).progress.epoch, 4);

    for (words, expected) in [
        (
            &["--resume", &first, "--lr", "0.5"][..],
            "settings.learning_rate is 0.002 in the checkpoint and 0.5 here",
        ),
        (
            &["--resume", &first, "--train-images", "300"],
            "dataset.train_images is 230 in the checkpoint and 270 here",
        ),
        (
            &["csnn", "--resume", &first],
            "network.name is \"mnist-fc\" in the checkpoint and \"csnn\" here",
        ),
        (
            &["--resume", "nowhere"],
            "nothing to resume: there is no checkpoint nowhere/last.safetensors",
        ),
        (
            &["--resume", &first, "--out", "elsewhere"],
            "leave --out out",
        ),
        (&["--out", &first], "holds a run"),
    ] {
        let refused = complaint_in(folder, &[&["train"], words].concat());
        assert!(refused.contains(expected), "{words:?}: {refused}");
    }
    let best = format!("{first}/best.safetensors");
    let refused = complaint_in(folder, &["train", "--resume", &best]);
    assert!(
        refused.contains("it has no tensors optimizer."),
        "{refused}"
    );
    let replace = ["--out", &first, "--force", "--seed", "6"];
    said_in(folder, &[&train[..], &replace].concat());
    assert_eq!(read(&names[0]).settings.seed, 6);
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
    assert!(
        text.contains("(selected on the test set, as SpikingJelly reports it)"),
        "{text}"
    );
    assert!(!text.contains("best by validation"), "{text}");
    assert!(text.contains("last.safetensors"), "{text}");
}

#[test]
fn weights_that_are_not_finite_are_refused_by_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let once = ["train", "--epochs", "1", "--schedule", "constant"];
    said_in(folder, &[&once[..], &SMALL[..]].concat());
    let path = folder.join("runs/mnist-fc/latest/last.safetensors");
    let mut file = spikelet::tensors::TensorFile::read(&path).expect("a file");
    let weight = file.tensors.get_mut("fc.3.weight").expect("a weight");
    let mut values: Vec<f32> = weight.to_f64().iter().map(|x| *x as f32).collect();
    values[3] = f32::NAN;
    *weight = spikelet::graph::Tensor::f32(weight.shape.clone(), values);
    file.write(&path).expect("writable");
    let last = "runs/mnist-fc/latest/last.safetensors";
    for words in [
        &["eval", last][..],
        &["show", last],
        &["train", "--resume", "--epochs", "2"],
    ] {
        let refused = complaint_in(folder, words);
        assert!(
            refused.contains("not finite in the tensors fc.3.weight"),
            "{words:?}: {refused}"
        );
    }
}
