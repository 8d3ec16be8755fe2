//! Networks of checkpoints as NIR graphs: `spikelet convert` and `spikelet diff`.

use crate::common::{code, mentions, program, stderr, stdout};
use crate::json_page::check;
use crate::small::{SMALL, complaint_in, said_in};
use serde_json::Value;
use spikelet::graph::Tensor;
use spikelet::nir::{Graph, NodeKind};
use spikelet::tensors::TensorFile;
use std::path::Path;

/// The checkpoint of a training of one epoch in a folder, and an input of images for its network.
fn trained(folder: &Path, options: &[&str]) -> &'static str {
    let once = ["train", "--epochs", "1", "--device", "cpu"];
    said_in(folder, &[&once[..], &SMALL, options].concat());
    let values: Vec<f32> = (0..4 * 2 * 784)
        .map(|k| ((k * 31) % 97) as f32 / 60.0)
        .collect();
    let file = TensorFile {
        tensors: [(
            "in/input".to_string(),
            Tensor::f32([4, 2, 1, 28, 28], values),
        )]
        .into(),
        ..TensorFile::default()
    };
    file.write(folder.join("x.safetensors"))
        .expect("a writable folder");
    "runs/mnist-fc/latest/last.safetensors"
}

fn line(text: &str) -> Value {
    serde_json::from_str(text.trim()).expect("a line of JSON")
}

#[test]
fn a_trained_network_is_a_graph_that_runs_and_is_equal_to_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = trained(folder, &["--encoder", "poisson"]);
    let said = said_in(folder, &["convert", file, "net.nir"]);
    mentions(
        &said,
        &[
            "fc.2    LIF      discretization euler_seq, reset subtract, fires ge, v_start zero",
            "note: input: the encoder `poisson` is not part of the graph",
            "mnist-fc: 7 nodes and 6 edges, steps of 0.001 s → nir in net.nir",
            "run it: spikelet simulate net.nir --input x.safetensors",
            "[T, N, 1, 28, 28]",
        ],
    );
    said_in(folder, &["check", "net.nir"]);
    let simulate = [
        "simulate",
        "net.nir",
        "--input",
        "x.safetensors",
        "--out",
        "y.safetensors",
    ];
    mentions(&said_in(folder, &simulate), &["output/out", "4 × 2 × 10"]);

    let found = line(&said_in(
        folder,
        &[
            "convert", file, "b.bin", "--to", "nir", "--dt", "1e-4", "--json",
        ],
    ));
    check(
        &["`spikelet convert` of a trained network"],
        std::slice::from_ref(&found),
    );
    assert_eq!(
        (&found["dt"], &found["reset"]),
        (&1e-4.into(), &"subtract".into())
    );
    assert_eq!(found["nodes"][2]["choices"]["fires"], "ge");

    // Against itself, against its graph, against a graph with other steps, and with options that are for graphs.
    for words in [
        [file, file].as_slice(),
        &[file, "net.nir"],
        &["b.bin", file, "--dt", "1e-4"],
        &[file, "net.nir", "--dt", "1e-3", "--a", "dtype=f64"],
    ] {
        let words = [&["diff", "--input", "x.safetensors"][..], words].concat();
        mentions(&said_in(folder, &words), &["equal: ", "note: "]);
    }
}

#[test]
fn the_recipe_of_events_for_nir_is_exported_and_equal_to_its_graph() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let train = [
        "train",
        "gestures-nir",
        "--epochs",
        "1",
        "--device",
        "cpu",
        "--train-images",
        "40",
        "--test-images",
        "10",
        "-b",
        "10",
    ];
    said_in(folder, &train);
    let file = "runs/gestures-nir/latest/last.safetensors";
    said_in(folder, &["convert", file, "gestures.nir"]);
    let counts = (0..16 * 2 * 2 * 34 * 34).map(|k| ((k * 31) % 7 / 5) as f32);
    let x = Tensor::f32([16, 2, 2, 34, 34], counts.collect::<Vec<f32>>());
    let input = TensorFile {
        tensors: [("in/input".to_string(), x)].into(),
        ..TensorFile::default()
    };
    input.write(folder.join("x.safetensors")).expect("written");
    let words = ["diff", file, "gestures.nir", "--input", "x.safetensors"];
    mentions(&said_in(folder, &words), &["equal"]);
}

#[test]
fn a_graph_that_was_changed_differs_from_its_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = trained(folder, &[]);
    said_in(folder, &["convert", file, "net.nir"]);
    let mut graph = Graph::read(folder.join("net.nir")).expect("a graph");
    let NodeKind::Linear(linear) = &mut graph.nodes.get_mut("fc.1").expect("weights").kind else {
        panic!("a Linear node");
    };
    let mut values = linear.weight.to_f32();
    values[3 * 784 + 400] += 1.0;
    linear.weight =
        spikelet::nir::Tensor::from_f32(linear.weight.shape(), &values).expect("196 × 784");
    graph.write(folder.join("changed.nir")).expect("written");
    let words = ["diff", file, "changed.nir", "--input", "x.safetensors"];
    let output = program(&words)
        .current_dir(folder)
        .output()
        .expect("the program starts");
    assert_eq!((code(&output), stderr(&output).as_str()), (1, ""));
    mentions(
        &stdout(&output),
        &[
            "first difference: layer `fc.1`, step 0, sample 0, neuron [3]",
            "cause: parameters",
            "weight (by up to 1.000e0) of `fc.1`",
        ],
    );
    // The options of one side change a checkpoint, too.
    let words = [
        &["diff", file, "net.nir", "--input", "x.safetensors"][..],
        &["--a", "fires=gt", "--a", "reset=value"],
    ]
    .concat();
    let output = program(&words)
        .current_dir(folder)
        .output()
        .expect("the program starts");
    assert_eq!((code(&output), stderr(&output).as_str()), (1, ""));
    mentions(&stdout(&output), &["cause: reset"]);
}

#[test]
fn a_network_without_a_form_is_refused_with_layer_and_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = trained(folder, &["--neuron", "klif"]);
    let message = complaint_in(folder, &["convert", file, "net.nir"]);
    mentions(
        &message,
        &[
            "last.safetensors: node `fc.2`: `Klif` has no form in NIR",
            "rectified",
            "help:",
        ],
    );
    assert!(!folder.join("net.nir").exists());
    let message = complaint_in(folder, &["diff", file, file, "--input", "x.safetensors"]);
    mentions(
        &message,
        &["node `fc.2`: `Klif`", "spikelet record CHECKPOINT"],
    );

    let file = trained(folder, &["--neuron", "refractory_lif"]);
    let message = complaint_in(folder, &["convert", file, "net.nir"]);
    mentions(&message, &["`fc.2`", "refractory period", "--approximate"]);
    let said = said_in(folder, &["convert", file, "net.nir", "--approximate"]);
    mentions(&said, &["note: fc.2: NIR has no refractory period"]);
    let message = complaint_in(
        folder,
        &["diff", file, "net.nir", "--input", "x.safetensors"],
    );
    mentions(
        &message,
        &["refractory period", "spikelet record CHECKPOINT"],
    );
}

#[test]
fn options_of_the_graph_of_a_checkpoint_are_for_it_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = trained(folder, &[]);
    let message = complaint_in(folder, &["convert", file, "w.pt", "--approximate"]);
    mentions(&message, &["--dt and --approximate", "OUT.nir"]);
    let message = complaint_in(
        folder,
        &["convert", file, "net.nir", "--strip-prefix", "fc."],
    );
    mentions(&message, &["--strip-prefix"]);
    let message = complaint_in(folder, &["convert", file, "net.nir", "--dt", "0"]);
    mentions(&message, &["--dt"]);
    said_in(folder, &["convert", file, "w.pt"]);
    let message = complaint_in(folder, &["convert", "w.pt", "net.nir"]);
    mentions(&message, &["w.pt has weights and no network", "help:"]);
    assert!(!folder.join("net.nir").exists());
}
