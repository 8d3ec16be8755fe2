//! `spikelet sweep`: grids and random searches, and their continuation after `kill -9`.

use crate::common::mentions;
use crate::seeds::{lines, of_event, started, tensors};
use crate::small::{SMALL, complaint_in, said_in};
use serde_json::Value;
use serde_json::json;
use std::path::Path;

const FILE: &str = "experiment = \"mnist-fc\"\n\n[values]\ntau = [2.0, 4.0, 8.0]\n";

/// The options of small runs, beside those of all small runs.
const OPTIONS: [&str; 6] = ["--neuron", "lif", "--device", "cpu", "--threads", "1"];

fn sweep<'a>(options: &[&'a str], of_train: &[&'a str]) -> Vec<&'a str> {
    let of_all = [&["--"], &SMALL[..], &OPTIONS, of_train].concat();
    [&["sweep", "sweep.toml"], options, &of_all].concat()
}

fn write(folder: &Path, text: &str) {
    std::fs::write(folder.join("sweep.toml"), text).expect("written");
}

#[test]
fn a_killed_sweep_is_resumed_bit_for_bit_and_selects_by_validation() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, FILE);
    let of_train = ["--epochs", "10", "--checkpoint-seconds", "0.01"];
    let whole = said_in(folder, &sweep(&["--out", "a", "--json"], &of_train));
    let whole = lines(&whole);
    let words = sweep(&["--out", "b", "--quiet"], &of_train);
    let mut child = started(folder, &words, "b/run-02/epochs.jsonl", 4);
    let second = complaint_in(folder, &sweep(&["--resume", "b"], &of_train));
    mentions(&second, &["b is in use"]);
    child.0.kill().expect("it runs");
    child.0.wait().expect("it ends");

    // Neither another file nor other options.
    write(folder, &FILE.replace("8.0", "16.0"));
    mentions(
        &complaint_in(folder, &["sweep", "sweep.toml", "--resume", "b"]),
        &["values.tau is [2.0,4.0,8.0] in the series and [2.0,4.0,16.0] here"],
    );
    write(folder, FILE);
    let other = [
        "sweep",
        "sweep.toml",
        "--resume",
        "b",
        "--",
        "--epochs",
        "3",
    ];
    mentions(
        &complaint_in(folder, &other),
        &["--epochs=3 is given", "--epochs=10"],
    );
    let single = ["train", "--resume", "b"];
    mentions(
        &complaint_in(folder, &single),
        &["is a sweep", "spikelet sweep FILE --resume"],
    );

    let resumed = said_in(folder, &["sweep", "sweep.toml", "--resume", "b", "--json"]);
    let resumed = lines(&resumed);
    // A fast machine may complete the second run before the signal.
    let completed = &of_event(&resumed, "series")[0]["completed"];
    assert!([1, 2].map(Value::from).contains(completed), "{completed}");
    for run in 1..=3 {
        for name in ["best", "last"] {
            let path =
                |series: &str| folder.join(format!("{series}/run-0{run}/{name}.safetensors"));
            assert_eq!(tensors(&path("a")), tensors(&path("b")), "{run}, {name}");
        }
    }
    let [a, b] = [&whole, &resumed].map(|lines| of_event(lines, "sweep_done")[0].clone());
    assert_eq!(a["best"]["name"], b["best"]["name"]);
    crate::json_page::check(&["`sweep_done`"], std::slice::from_ref(&a));
    let accuracies = a["runs"].as_array().expect("runs").iter().map(|run| {
        let accuracy = &run["result"]["validation_accuracy"];
        accuracy.as_f64().expect("a number")
    });
    let highest = accuracies.fold(0.0, f64::max);
    assert_eq!(a["best"]["result"]["validation_accuracy"], highest);
    // A finished sweep prints its results again.
    let text = said_in(folder, &["sweep", "sweep.toml", "--resume", "b"]);
    mentions(
        &text,
        &[
            "3 of 3 runs are completed",
            "tau",
            "best by validation: run-0",
            "test accuracy",
        ],
    );
    mentions(
        &said_in(folder, &["runs", "b"]),
        &["run       tau", "b/run-03  8.0"],
    );
}

#[test]
fn without_a_validation_set_no_run_is_selected() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, &FILE.replace(", 8.0", ""));
    let of_train = ["--epochs", "1", "--validation", "0"];
    let text = said_in(folder, &sweep(&[], &of_train));
    mentions(
        &text,
        &[
            "no best run is selected",
            "the test set must not select",
            "runs/sweeps/sweep/",
        ],
    );
    assert!(!text.contains("best by validation"), "{text}");
    // One line for each run, without its header.
    let of_runs = |text: &str| text.lines().filter(|line| line.contains(" of 2)")).count();
    assert_eq!(of_runs(&text), 2, "{text}");
    mentions(&text, &["run-01: tau = 2.0 (1 of 2) · 1 epoch · test "]);
    assert!(
        !text.contains("device") && text.lines().count() < 10,
        "{text}"
    );
    let quiet = said_in(folder, &sweep(&[], &[&of_train[..], &["-q"]].concat()));
    assert_eq!(of_runs(&quiet), 0, "{quiet}");
    mentions(&quiet, &["run-02  4.0"]);
}

#[test]
fn a_random_search_is_listed_and_its_values_are_checked_before_the_first_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let random = "experiment = \"mnist-fc\"\nsearch = \"random\"\nruns = 5\nseed = 3\n[values]\n\
                  tau = { min = 1.5, max = 20.0, scale = \"log\" }\nv_threshold = [0.5, 1.0]\n";
    write(folder, random);
    let words = sweep(&["--dry-run", "--json"], &[]);
    let found = lines(&said_in(folder, &words));
    assert_eq!(found, lines(&said_in(folder, &words)));
    assert_eq!(found.len(), 5);
    crate::json_page::check(&["`sweep_run`"], &found);
    mentions(
        &said_in(folder, &sweep(&["--dry-run"], &[])),
        &["run-05", "v_threshold"],
    );

    for (text, parts) in [
        (
            random.replace("1.5", "0.5").replace("20.0", "0.9"),
            &["run-01 (tau = 0.", "lif"][..],
        ),
        (FILE.replace("4.0", "0.5"), &["run-02 (tau = 0.5)"]),
        (
            FILE.replace("tau", "tua"),
            &["run-01 (tua = 2.0)", "did you mean `tau`?"],
        ),
        (FILE.replace("mnist-fc", "mnist-fk"), &["mnist-fk"]),
        (
            FILE.replace("[values]", "[valus]"),
            &["sweep.toml:3:2", "did you mean `values`?"],
        ),
    ] {
        write(folder, &text);
        let problem = complaint_in(folder, &sweep(&[], &[]));
        mentions(&problem, parts);
        assert!(problem.contains("help: "), "{problem}");
        assert!(!folder.join("runs").exists(), "{text}");
    }
    mentions(
        &complaint_in(folder, &["sweep", "none.toml"]),
        &["none.toml", "cannot be read"],
    );
}

#[test]
fn an_experiment_file_is_swept_by_its_dotted_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let text = said_in(
        folder,
        &["config", "mnist-fc", "--epochs", "1", "--hidden", "16"],
    );
    std::fs::create_dir(folder.join("experiments")).expect("a folder");
    let experiment = folder.join("experiments/run.toml");
    std::fs::write(&experiment, &text).expect("written");
    let sweep_file = "experiment = \"run.toml\"\n[values]\noptimizer.lr = [1e-3, 3e-3]\n\
                      training.batch_size = [32]\n";
    std::fs::write(folder.join("experiments/sweep.toml"), sweep_file).expect("written");
    let words = |more: &[&'static str]| {
        let small = [
            "--",
            "--train-images",
            "128",
            "--test-images",
            "64",
            "--seed",
            "5",
        ];
        [
            &["sweep", "experiments/sweep.toml", "--out", "a"],
            more,
            &small,
        ]
        .concat()
    };
    let found = lines(&said_in(folder, &words(&["--json"])));
    let start = of_event(&found, "start");
    let settings: Vec<_> = (start.iter())
        .map(|start| &start["settings"])
        .map(|s| {
            (
                s["optimizer"]["lr"].clone(),
                s["training"]["batch_size"].clone(),
                s["training"]["seed"].clone(),
            )
        })
        .collect();
    let expected = |lr: f64| (json!(lr), json!(32), json!(5));
    assert_eq!(settings, [expected(1e-3), expected(3e-3)]);
    let changed = text.replace("epochs = 1", "epochs = 2");
    assert_ne!(changed, text);
    std::fs::write(&experiment, changed).expect("written");
    mentions(
        &complaint_in(folder, &words(&["--resume"])),
        &[
            "of the file of the experiment is `epochs = 1",
            "and `epochs = 2",
        ],
    );
    let wrong = "experiment = \"run.toml\"\n[values]\noptimizer.lrr = [1e-3]\n";
    std::fs::write(folder.join("experiments/sweep.toml"), wrong).expect("written");
    let problem = complaint_in(folder, &["sweep", "experiments/sweep.toml"]);
    mentions(
        &problem,
        &["run-01 (optimizer.lrr = 0.001)", "did you mean"],
    );
}
