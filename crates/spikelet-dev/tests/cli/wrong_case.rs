//! Files that are no case, and cases whose parts do not fit: exit code 1, the file's name, and
//! nothing is written.

use crate::common::{complaint, golden};
use serde_json::{Value, json};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;

/// Runs a case made of these parts, which must be refused.
fn refused(spec: Option<&str>, tensors: &[(&str, Tensor)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut case = TensorFile::default();
    case.metadata
        .extend(spec.map(|s| ("spec".to_string(), s.to_string())));
    let named = tensors.iter();
    case.tensors
        .extend(named.map(|(name, tensor)| ((*name).to_string(), tensor.clone())));
    let (path, out) = (folder.path().join("case"), folder.path().join("out"));
    case.write(&path).expect("written");
    let (path, out_text) = (path.to_string_lossy(), out.to_string_lossy());
    let message = complaint(&["case", "run", "--case", &path, "--out", &out_text], 1);
    assert!(message.contains(&*path) && !out.exists(), "{message}");
    message
}

fn x() -> (&'static str, Tensor) {
    ("x_seq", Tensor::f32([2, 3], [1.0; 6]))
}

#[test]
fn a_missing_or_invalid_case_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (text, missing, out) = (at("text"), at("missing"), at("out"));
    std::fs::write(&text, "no tensors in here").expect("written");
    for file in [&text, &missing] {
        for words in [
            vec!["case", "run", "--case", file, "--out", &out],
            vec!["case", "diff", file, &text],
        ] {
            assert!(complaint(&words, 1).contains(file.as_str()));
        }
    }
    let golden = golden("if_hard_surrogate_atan");
    complaint(&["case", "run", "--case", &golden, "--out", &golden], 2);
    let f64_on_a_gpu = ["--dtype", "f64", "--device", "cuda:0"];
    let run = ["case", "run", "--case", &golden, "--out", &out];
    complaint(&[&run[..], &f64_on_a_gpu].concat(), 2);
    refused(None, &[x()]);
    for spec in [
        "{",
        "{}",
        "[]",
        r#"{"kind": 1}"#,
        r#"{"kind": "table"}"#,
        r#"{"kind": "neuron"}"#,
        r#"{"kind": "neuron", "neuron": "lfi"}"#,
        r#"{"kind": "network", "T": -1}"#,
        r#"{"kind": "encoder", "encoder": "morse", "T": 4}"#,
    ] {
        refused(Some(spec), &[x(), ("x", Tensor::f32([2], [0.5; 2]))]);
    }
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    let plif = json!({"kind": "neuron", "neuron": "plif", "T": 2, "N": 3}).to_string();
    let w = ("w", Tensor::f32([], [0.0]));
    for wrong in [
        vec![w.clone()],
        vec![x()],
        vec![("x_seq", Tensor::f32([6], [1.0; 6])), w.clone()],
        vec![("x_seq", Tensor::f32([3, 2], [1.0; 6])), w.clone()],
        vec![("x_seq", Tensor::f32([], [1.0])), w.clone()],
        vec![x(), w.clone(), ("v_init", Tensor::f32([4], [0.0; 4]))],
        vec![x(), ("w", Tensor::f32([2], [0.0; 2]))],
        vec![x(), w, ("grad_spike_seq", Tensor::f32([2, 4], [0.0; 8]))],
    ] {
        refused(Some(&plif), &wrong);
    }
}

/// A network of these layers, over an input [2, 1, 4, 4].
fn network(layers: &Value) -> String {
    let spec = json!({
        "kind": "network", "input": "x", "T": 3, "batch": 2, "layers": layers,
        "loss": "cross_entropy(logits, label), mean over the batch",
    });
    let given = [
        ("x", Tensor::f32([2, 1, 4, 4], [1.0; 32])),
        ("label", Tensor::i64([2], [0, 9])),
        ("fc.weight", Tensor::f32([10, 16], [0.5; 160])),
    ];
    refused(Some(&spec.to_string()), &given)
}

#[test]
fn invalid_or_too_large_networks_are_errors() {
    let repeat = |steps: u64| json!({"type": "repeat_over_t", "T": steps});
    let fc = |inputs: u64| json!({"type": "linear", "in": inputs, "out": 10, "name": "fc"});
    let spikes = json!({"type": "if", "name": "if1"});
    let flat = json!({"type": "flatten"});
    let conv = |padding: u64| json!({"type": "conv2d", "in": 1, "out": 1, "kernel": 3, "padding": padding, "name": "c"});
    for layers in [
        json!([]),
        json!([flat, fc(16)]),
        json!([repeat(3), flat, fc(17), spikes]),
        json!([repeat(3), flat, fc(16), {"type": "soma", "name": "s"}]),
        json!([repeat(1 << 60), flat, fc(16), spikes]),
        json!([repeat(3), conv(1 << 40), spikes]),
        json!([repeat(3), conv(1 << 9), flat, fc(16), spikes]),
        json!([repeat(3), {"type": "max_pool2d", "kernel": 9}, flat, fc(16), spikes]),
        json!([repeat(3), flat, fc(16), spikes, spikes]),
        json!([repeat(4), flat, fc(16), spikes]),
    ] {
        network(&layers);
    }
    let long =
        json!({"kind": "encoder", "encoder": "latency", "params": {"T": 5}, "T": 1_u64 << 50});
    refused(
        Some(&long.to_string()),
        &[("x", Tensor::f32([2], [0.5; 2]))],
    );
}
