//! `spikelet simulate`.

use crate::common::{code, complaint, mentions, run, said, said_json, stderr};
use crate::predict::write_npy;
use spikelet::graph::Tensor;
use spikelet::nir::{Graph, If, NodeKind, Tensor as NirTensor};
use spikelet::tensors::TensorFile;
use std::path::Path;

/// A graph of an integrator that reaches its threshold exactly, and its input.
pub fn files(folder: &Path) -> [String; 3] {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let [graph_path, input, out] = ["if.nir", "x.safetensors", "y.safetensors"].map(path);
    let one = |value: f64| NirTensor::from_f64(&[1], &[value]).expect("one element");
    let mut graph = Graph::default();
    graph
        .insert("in", NodeKind::Input { shape: vec![1] })
        .insert(
            "if",
            NodeKind::If(If {
                r: one(1000.0),
                v_threshold: one(1.0),
                v_reset: Some(one(0.0)),
            }),
        )
        .insert("out", NodeKind::Output { shape: vec![1] })
        .connect(&["in", "if", "out"]);
    graph.write(&graph_path).expect("a writable folder");
    let tensors = [
        ("in/in".to_string(), Tensor::f32([3, 1, 1], [0.5, 0.5, 0.5])),
        ("other".to_string(), Tensor::i64([1], [7])),
    ];
    let file = TensorFile {
        tensors: tensors.into(),
        ..TensorFile::default()
    };
    file.write(&input).expect("a writable folder");
    [graph_path, input, out]
}

fn spikes(out: &str, name: &str) -> Vec<f64> {
    TensorFile::read(out).expect("a tensor file").tensors[name].to_f64()
}

#[test]
fn the_outputs_of_a_graph_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, out] = files(folder.path());
    let words = [
        "simulate", &graph, "--input", &input, "--out", &out, "--dt", "0.001",
    ];
    let text = said(&words);
    mentions(
        &text,
        &[
            "out/out",
            "3 × 1 × 1",
            "dt 0.001, euler_seq",
            "dt as given",
            "file: ",
        ],
    );
    assert_eq!(spikes(&out, "out/out"), [0.0, 0.0, 1.0]);
    assert_eq!(TensorFile::read(&out).expect("a file").tensors.len(), 1);
    let said = said_json(&[&words[..], &["--fires", "ge"]].concat());
    assert_eq!(
        (&said[0]["fires"], &said[0]["dt"]),
        (&"ge".into(), &0.001.into())
    );
    assert_eq!(spikes(&out, "out/out"), [0.0, 1.0, 0.0]);
    // The array of the only Input, of which f64 stays f64.
    let array = folder.path().join("x.npy");
    let values = [0.5_f64; 3].map(f64::to_le_bytes).concat();
    write_npy(&array, "<f8", "(3, 1, 1)", &values);
    let array = array.to_string_lossy();
    let words = words.map(|word| if word == input { &*array } else { word });
    said_json(&words);
    assert_eq!(spikes(&out, "out/out"), [0.0, 0.0, 1.0]);
}

#[test]
fn all_nodes_in_f64_with_the_choices_of_a_framework() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, out] = files(folder.path());
    let options = [
        "--record",
        "all",
        "--dtype",
        "f64",
        "--dt",
        "1e-3",
        "--convention",
        "spikingjelly",
    ];
    said(
        &[
            &["simulate", &graph, "--input", &input, "--out", &out][..],
            &options,
        ]
        .concat(),
    );
    let file = TensorFile::read(&out).expect("a tensor file");
    let names: Vec<&str> = file.tensors.keys().map(String::as_str).collect();
    assert_eq!(names, ["if/h", "if/out", "if/v", "in/out", "out/out"]);
    assert_eq!(file.tensors["if/h"].to_f64(), [0.5, 1.0, 0.5]);
    assert_eq!(file.tensors["if/v"].to_f64(), [0.5, 0.0, 0.5]);
    assert_eq!(file.metadata["fires"], "ge");
}

#[test]
fn dt_is_that_of_the_parameters_if_they_determine_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, out] = files(folder.path());
    let made = said_json(&["simulate", &graph, "--input", &input, "--out", &out]);
    assert_eq!(
        (&made[0]["dt"], &made[0]["dt_from"]),
        (&0.001.into(), &"dt from the file's parameters".into())
    );
}

#[test]
fn errors_name_the_file_and_write_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, out] = files(folder.path());
    let missing = complaint(
        &[
            "simulate", "no.nir", "--input", &input, "--out", &out, "--dt", "1",
        ],
        1,
    );
    mentions(&missing, &["no.nir", "help: "]);
    let swapped = complaint(
        &[
            "simulate", &input, "--input", &graph, "--out", &out, "--dt", "1",
        ],
        1,
    );
    mentions(&swapped, &["x.safetensors", "help: "]);
    let wrong = TensorFile {
        tensors: [("in/in".to_string(), Tensor::f32([3, 1, 2], [0.5; 6]))].into(),
        ..TensorFile::default()
    };
    wrong.write(&input).expect("a writable folder");
    let shape = complaint(
        &[
            "simulate", &graph, "--input", &input, "--out", &out, "--dt", "1",
        ],
        1,
    );
    mentions(
        &shape,
        &["x.safetensors", "input `in`", "[3, 1, 2]", "help: "],
    );
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_command_line_that_is_not_understood_has_the_exit_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, input, out] = files(folder.path());
    for wrong in [
        ["--discretization", "midpoint"],
        ["--reset", "half"],
        ["--dt", "0"],
        ["--convention", "brian"],
        ["--dtype", "f16"],
    ] {
        let words = ["simulate", &graph, "--input", &input, "--out", &out];
        let output = run(&[&words[..], &wrong].concat());
        assert_eq!(code(&output), 2, "{wrong:?}: {}", stderr(&output));
    }
    let words = [
        "simulate", &graph, "--input", &input, "--out", &out, "--dtype", "f64", "--device",
        "cuda:0",
    ];
    mentions(&complaint(&words, 2), &["--dtype f64", "--device cpu"]);
}
