//! `spikelet diff`.

use crate::common::{code, complaint, mentions, program, run, said, stderr, stdout};
use crate::json_page::check;
use crate::predict::write_npy;
use serde_json::Value;
use spikelet::graph::Tensor;
use spikelet::nir::{Graph, If, NodeKind, Tensor as NirTensor};
use spikelet::tensors::TensorFile;
use std::path::Path;

/// A graph of an integrator that reaches its threshold exactly, its input, and a recording that fires at it.
fn files(folder: &Path) -> [String; 3] {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let [graph_path, input, recorded] =
        ["if.nir", "x.safetensors", "recorded.safetensors"].map(path);
    let all = |value: f64| NirTensor::from_f64(&[2], &[value; 2]).expect("two elements");
    let neuron = If {
        r: all(1000.0),
        v_threshold: all(1.0),
        v_reset: Some(all(0.0)),
    };
    let mut graph = Graph::default();
    graph
        .insert("in", NodeKind::Input { shape: vec![2] })
        .insert("if", NodeKind::If(neuron))
        .insert("out", NodeKind::Output { shape: vec![2] })
        .connect(&["in", "if", "out"]);
    graph.write(&graph_path).expect("a writable folder");
    let write = |path: &str, name: &str, values: [f32; 6]| {
        let tensors = [(name.to_string(), Tensor::f32([3, 1, 2], values))].into();
        let file = TensorFile {
            tensors,
            ..TensorFile::default()
        };
        file.write(path).expect("a writable folder");
    };
    write(&input, "in/in", [0.5, 0.25, 0.5, 0.25, 0.5, 0.25]);
    write(&recorded, "if/out", [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    [graph_path, input, recorded]
}

fn line(output: &std::process::Output) -> Value {
    serde_json::from_str(stdout(output).trim()).expect("a line of JSON")
}

#[test]
fn equal_networks_have_the_exit_status_0() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, recorded] = files(folder.path());
    let words = [
        "diff", &graph, &recorded, "--input", &input, "--dt", "0.001", "--fires", "ge",
    ];
    let text = said(&words);
    mentions(
        &text,
        &[
            "equal: 6 elements in 1 layer,",
            "recorded sequences",
            "fires ge",
        ],
    );
    let array = folder.path().join("x.npy");
    let values = [0.5_f32, 0.25].repeat(3);
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    write_npy(&array, "<f4", "(3, 1, 2)", &bytes);
    let array = array.to_string_lossy();
    let words = words.map(|word| if word == input { &*array } else { word });
    mentions(&said(&words), &["equal: 6 elements in 1 layer,"]);
    let both = [
        "diff",
        &graph,
        &graph,
        "--input",
        &input,
        "--b",
        "dtype=f64",
    ];
    mentions(&said(&both), &["equal: "]);
}

#[test]
fn different_networks_have_the_exit_status_1_and_a_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, recorded] = files(folder.path());
    let words = ["diff", &graph, &recorded, "--input", &input];
    let output = run(&words);
    assert_eq!((code(&output), stderr(&output).as_str()), (1, ""));
    mentions(
        &stdout(&output),
        &[
            "first difference: layer `if`, step 1, sample 0, neuron [0]",
            "Output                      0  1",
            "Potential before the reset  1  –",
            "cause: fires\n",
            "with this change of A, nothing differs: fires ge",
        ],
    );
    assert!(!stdout(&output).contains('\x1b'));
    let output = program(&[&words[..], &["--no-cause"]].concat())
        .env("NO_COLOR", "1")
        .output()
        .expect("the program starts");
    assert_eq!(code(&output), 1);
    assert!(!stdout(&output).contains("cause"), "{}", stdout(&output));
}

#[test]
fn the_page_has_all_keys_of_a_comparison() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, recorded] = files(folder.path());
    let output = run(&["diff", &graph, &recorded, "--input", &input, "--json"]);
    let found = line(&output);
    check(&["`spikelet diff`"], std::slice::from_ref(&found));
    assert_eq!(
        (&found["equal"], &found["first"]["step"]),
        (&false.into(), &1.into())
    );
    assert_eq!(found["cause"]["causes"][0], "fires");
    assert_eq!(
        (&found["a"]["runs"], &found["b"]["runs"]),
        (&true.into(), &false.into())
    );
    let output = run(&["diff", &graph, &graph, "--input", &input, "--json"]);
    let found = line(&output);
    assert_eq!(
        (code(&output), &found["equal"], &found["cause"]),
        (0, &true.into(), &Value::Null)
    );
}

#[test]
fn networks_that_cannot_be_compared_have_the_exit_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, recorded] = files(folder.path());
    let missing = folder
        .path()
        .join("missing.nir")
        .to_string_lossy()
        .into_owned();
    let fails = |words: &[&str], parts: &[&str]| {
        let message = complaint(&[&["diff"][..], words].concat(), 2);
        mentions(&message, parts);
        assert!(
            message.contains("help: ") || message.contains("--help"),
            "{message}"
        );
    };
    fails(
        &[&missing, &graph, "--input", &input],
        &["missing.nir", "help"],
    );
    fails(&[&graph, &graph], &["--input FILE"]);
    fails(
        &[&graph, &recorded, "--input", &recorded],
        &["no tensor in/NODE"],
    );
    fails(
        &[&graph, &recorded, "--input", &input, "--map", "if=nobody"],
        &["B has no layer `nobody`", "it has: if", "--map"],
    );
    fails(
        &[&graph, &recorded, "--input", &input, "--map", "if"],
        &["--map", "="],
    );
    fails(
        &[&graph, &graph, "--input", &input, "--b", "rest=value"],
        &["`rest=value`", "reset-delay"],
    );
    fails(
        &[&graph, &graph, "--input", &input, "--b", "reset=hard"],
        &["`reset=hard`", "value, subtract"],
    );
    fails(
        &[
            &graph, &graph, "--input", &input, "--dtype", "f64", "--device", "cuda",
        ],
        &["f64", "CPU"],
    );
}
