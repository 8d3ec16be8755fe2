//! `spikelet convert --ann`: networks without spikes as spiking networks.

use crate::common::mentions;
use crate::json_page::check;
use crate::small::{complaint_in, said_in};
use serde_json::Value;
use std::path::Path;

const HEAD: &str = r#"
[data]
dataset = "synthetic"
train_images = 600
test_images = 100
[encoder]
name = "direct"
[loss]
name = "cross-entropy"
[training]
epochs = 1
time_steps = 1
batch_size = 20
"#;

const RELU: &str = r#"
[network]
input = [1, 28, 28]
layers = [{ avg-pool = 4 }, "flatten", { linear = 24, bias = true, name = "fc" }, "batch-norm", "relu", { linear = 10, bias = true }]
"#;

const QCFS: &str = r#"
[network]
input = [1, 28, 28]
layers = [
  { conv = 4, kernel = 3, stride = 2 }, "batch-norm", { qcfs = 8, init_lambda = 2.0 },
  { residual = [{ conv = 4, kernel = 3, padding = 1 }, "batch-norm"], name = "block" }, { qcfs = 8, init_lambda = 2.0 },
  { avg-pool = 4 }, "flatten", { linear = 10, bias = true },
]
"#;

/// Trains a network in a folder; the checkpoint.
fn trained(folder: &Path, network: &str) -> &'static str {
    std::fs::write(folder.join("ann.toml"), format!("{HEAD}{network}")).expect("written");
    said_in(folder, &["train", "ann.toml", "--device", "cpu"]);
    "runs/ann/latest/last.safetensors"
}

fn json(folder: &Path, words: &[&str]) -> Value {
    let said = said_in(folder, &[words, &["--json"]].concat());
    serde_json::from_str(said.trim()).expect("a line of JSON")
}

#[test]
fn a_network_with_relu_is_converted_evaluated_and_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = trained(folder, RELU);
    let few = ["--test-images", "100", "--device", "cpu"];
    let convert = [
        "convert",
        "--ann",
        file,
        "--calibrate",
        "synthetic",
        "--threshold",
        "99.9%",
    ];
    let half = ["--half-threshold", "half.safetensors"];
    said_in(folder, &[&convert[..], &few, &half].concat());
    let said = said_in(folder, &[&convert[..], &few, &["snn.safetensors"]].concat());
    mentions(
        &said,
        &[
            "layer",
            "error T=64",
            "time steps",
            "ANN",
            "written: snn.safetensors · 32 time steps",
        ],
    );
    let found = json(folder, &[&convert[..], &few, &["snn.safetensors"]].concat());
    check(&["`spikelet convert --ann`"], std::slice::from_ref(&found));
    let at = found["comparison"]["time_steps"]
        .as_array()
        .expect("a list");
    assert_eq!(at.len(), 7);
    let after = |k: usize| at[k]["accuracy"].as_f64().expect("a number");
    let ann = found["comparison"]["ann_accuracy"]
        .as_f64()
        .expect("a number");
    assert!(
        after(6) >= ann - 0.02 && at[6]["agreement"].as_f64() >= Some(0.95),
        "{found}"
    );
    let errors = found["comparison"]["layers"][0]["errors"]
        .as_array()
        .expect("a list");
    assert!(errors[6].as_f64() < Some(0.1), "{found}");

    // A checkpoint is evaluated as the report says.
    let evaluates = |file: &str| {
        let evaluated = json(folder, &[&["eval", file], &few[..]].concat());
        let accuracy = evaluated["accuracy"].as_f64();
        assert_eq!(accuracy, Some(after(5)), "{evaluated}");
    };
    evaluates("snn.safetensors");
    let said = said_in(folder, &["convert", "snn.safetensors", "snn.nir"]);
    mentions(
        &said,
        &["discretization euler_seq, reset subtract, fires ge, v_start zero"],
    );
    said_in(folder, &["check", "snn.nir"]);
    mentions(
        &said_in(folder, &["show", "snn.safetensors", "--device", "cpu"]),
        &["firing rate"],
    );

    // Weights of the same network, without its checkpoint.
    said_in(folder, &["convert", file, "weights.pt"]);
    let words = [
        "convert",
        "--ann",
        "weights.pt",
        "--network",
        "ann.toml",
        "--threshold",
        "99.9%",
    ];
    let again = json(folder, &[&words[..], &few, &["again.safetensors"]].concat());
    assert_eq!(again["comparison"], found["comparison"]);
    evaluates("again.safetensors");
}

#[test]
fn a_network_with_qcfs_needs_no_calibration_and_resumes() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = trained(folder, QCFS);
    let words = [
        "convert",
        "--ann",
        file,
        "--test-images",
        "50",
        "--device",
        "cpu",
        "--report-steps",
        "4,8",
    ];
    let found = json(
        folder,
        &[&words[..], &["--time-steps", "8", "snn.safetensors"]].concat(),
    );
    // The input of the first layer is the same at all steps: after 8 steps it is exact.
    let first = &found["comparison"]["layers"][0];
    assert!(first["errors"][1].as_f64() < Some(1e-6), "{found}");
    let said = said_in(folder, &["convert", "snn.safetensors", "snn.nir"]);
    mentions(&said, &["v_start half-threshold", "Scale"]);
    said_in(folder, &["check", "snn.nir"]);
    // λ is a parameter: it is saved with the network, and the finished run is recognized.
    let more = said_in(folder, &["train", "--resume", file, "--device", "cpu"]);
    mentions(&more, &["nothing to do"]);
    let network = std::fs::read(folder.join(file)).expect("a checkpoint");
    assert!(String::from_utf8_lossy(&network).contains("2.lambda"));
}

#[test]
fn what_cannot_be_converted_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = trained(folder, RELU);
    let complaint = |words: &[&str]| complaint_in(folder, &[&["convert", "--ann"], words].concat());
    mentions(
        &complaint(&[file, file, "out.safetensors"]),
        &["two inputs"],
    );
    mentions(
        &complaint(&[file, file]),
        &["both the input and the output"],
    );
    mentions(
        &complaint(&[file, "--network", "ann.toml", "o"]),
        &["is a checkpoint"],
    );
    mentions(&complaint(&["ann.toml", "o"]), &["ann.toml"]);
    mentions(
        &complaint(&["missing.safetensors", "o"]),
        &["missing.safetensors"],
    );
    mentions(
        &complaint(&[file, "--momentum", "2", "o"]),
        &["the momentum is 2"],
    );
    for wrong in ["most", "101%", "0", "-1"] {
        let option = format!("--threshold={wrong}");
        mentions(&complaint(&[file, &option, "o"]), &["--threshold", "max"]);
    }
    said_in(folder, &["convert", file, "weights.npz"]);
    mentions(
        &complaint(&["weights.npz", "o"]),
        &["has weights and no network"],
    );
    let gelu = RELU.replace("\"relu\"", "\"gelu\"");
    let file = trained(folder, &gelu);
    mentions(
        &complaint(&[file, "o"]),
        &[
            "layer `4` (gelu) cannot be converted",
            "train with `relu` or `qcfs`",
        ],
    );
    assert!(!folder.join("o").exists());
}

#[test]
fn options_of_another_conversion_are_refused_rather_than_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("weights.npz"), b"not read").expect("written");
    for option in [
        "--dataset=synthetic",
        "--data-dir=data",
        "--download",
        "--split=held-out",
        "--test-images=10",
        "--device=cpu",
        "--threads=1",
        "--calibrate=synthetic",
        "--time-steps=8",
    ] {
        let said = complaint_in(folder, &["convert", "weights.npz", "o.safetensors", option]);
        mentions(&said, &["required", "--ann <FILE>"]);
    }
    for option in [
        "--to=evt3",
        "--dt=1",
        "--approximate",
        "--strip-prefix=net.",
        "--format=evt3",
        "--sensor=34x34",
        "--out-sensor=34x34",
    ] {
        let name = option.split('=').next().unwrap_or_default();
        let said = complaint_in(
            folder,
            &["convert", "--ann", "ann.safetensors", "o", option],
        );
        mentions(&said, &["cannot be used with", "--ann <FILE>", name]);
    }
    assert!(!folder.join("o").exists());
}
