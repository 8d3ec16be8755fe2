//! `spikelet check`, `convert` and `show` on NIR graphs and files with weights.

use crate::common::{complaint, mentions, said, said_json};
use crate::json_page::check;
use crate::small::{SMALL, complaint_in, said_in};
use serde_json::Value;
use spikelet::tensors::TensorFile;
use spikelet_nir::{Graph, Lif, Linear, NodeKind};
use spikelet_weights::{Tensor, Weights};
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = match name.split_once('/') {
        Some(("weights" | "hostile", _)) => "spikelet-weights",
        _ => "spikelet-nir",
    };
    text(&crates.join(folder).join("tests/fixtures").join(name)).to_string()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn folder() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_path_buf();
    (folder, move |name: &str| path.join(name))
}

/// A graph whose neuron is connected to itself.
fn graph() -> Graph {
    let all = |value: f64| Tensor::from_f64(&[3], &[value; 3]).expect("three");
    let weight = |rows, columns| {
        Tensor::from_f32(&[rows, columns], &vec![0.5; rows * columns]).expect("a matrix")
    };
    let mut graph = Graph::default();
    let neuron = Lif {
        tau: all(0.01),
        r: all(1.0),
        v_leak: all(0.0),
        v_threshold: all(1.0),
        v_reset: None,
    };
    graph
        .insert("input", NodeKind::Input { shape: vec![2] })
        .insert(
            "fc",
            NodeKind::Linear(Linear {
                weight: weight(3, 2),
            }),
        )
        .insert("lif", NodeKind::Lif(neuron))
        .insert(
            "back",
            NodeKind::Linear(Linear {
                weight: weight(3, 3),
            }),
        )
        .insert("output", NodeKind::Output { shape: vec![3] })
        .connect(&["input", "fc", "lif", "output"])
        .connect(&["lif", "back", "lif"]);
    graph
}

fn only(lines: Vec<Value>) -> Value {
    let [line] = <[Value; 1]>::try_from(lines).expect("a line");
    line
}

#[test]
fn a_valid_file_is_described_and_a_wrong_one_named() {
    let found = only(said_json(&["check", &fixture("weights/float16.pt")]));
    assert_eq!(
        (&found["format"], &found["tensors"]),
        (&"torch-zip".into(), &16.into())
    );
    check(&["`spikelet check`"], &[found]);
    let message = complaint(&["check", &fixture("hostile/os_system.pt")], 1);
    mentions(
        &message,
        &["os_system.pt", "never imported or called", "help:"],
    );
    let message = complaint(&["check", &fixture("hostile/st_overlap.safetensors")], 1);
    mentions(&message, &["tensor `"]);
    let message = complaint(&["check", "missing.pt"], 1);
    mentions(&message, &["missing.pt", "cannot open it"]);
}

#[test]
fn a_graph_is_converted_and_shown() {
    let (_folder, path) = folder();
    let (file, copy, picture) = (path("graph.bin"), path("copy.nir"), path("graph.svg"));
    graph().write(&file).expect("written");
    let found = only(said_json(&["convert", text(&file), text(&copy)]));
    assert_eq!((&found["nodes"], &found["edges"]), (&5.into(), &5.into()));
    check(&["`spikelet convert` of a NIR graph"], &[found]);
    assert_eq!(Graph::read(&copy).expect("read"), graph());

    let words = ["show", text(&copy), "--svg", text(&picture)];
    let found = only(said_json(&words));
    assert_eq!(
        found["nodes"][1]["parameters"]["weight"]["shape"],
        serde_json::json!([3, 2])
    );
    check(&["`spikelet show` of a NIR graph"], &[found]);
    let shown = said(&words);
    let lines: Vec<Vec<&str>> = shown
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[3][..4], ["fc", "Linear", "[2]", "[3]"], "{shown}");
    assert!(
        shown.contains("back, output") || shown.contains("output, back"),
        "{shown}"
    );
    // The edge back into the neuron closes a cycle.
    let picture = fs::read_to_string(picture).expect("a picture");
    assert!(
        picture.contains("#d55e00") && picture.contains(">CubaLIF<") != picture.contains(">LIF<")
    );

    let message = complaint(&["convert", text(&file), text(&path("graph.pt"))], 2);
    mentions(&message, &["a NIR graph", "nir"]);
    let message = complaint(&["show", text(&file), "--out", text(&path("a.png"))], 2);
    mentions(&message, &["--svg"]);
}

#[test]
fn a_checkpoint_of_pytorch_is_converted_with_its_names_shapes_and_types() {
    let (_folder, path) = folder();
    let file = fixture("weights/container_lightning.ckpt");
    for name in ["a.safetensors", "a.pt", "a.npz"] {
        let out = path(name);
        let words = ["convert", &file, text(&out), "--strip-prefix", "net."];
        let found = only(said_json(&words));
        assert_eq!(found["removed_prefixes"], serde_json::json!(["net."]));
        check(&["`spikelet convert` of weights"], &[found]);
        let mut expected = Weights::read(&file).expect("read");
        expected.strip_prefix("net.").expect("a prefix");
        let read = Weights::read(&out).expect("read");
        assert_eq!(read.len(), expected.len());
        for (name, tensor) in expected.iter() {
            assert_eq!(read.get(name), Some(tensor), "{name}");
        }
    }
    let out = path("module.safetensors");
    said(&[
        "convert",
        &fixture("weights/container_model_module.pth"),
        text(&out),
    ]);
    assert!(Weights::read(&out).expect("read").get("0.weight").is_some());
    let found = only(said_json(&["show", text(&out)]));
    check(&["`spikelet show` of weights"], &[found]);
    let shown = said(&["show", &file]);
    assert!(
        shown.contains("net.10.w") && shown.contains("num_batches_tracked"),
        "{shown}"
    );
}

#[test]
fn refused_files_are_not_converted_and_formats_are_explained() {
    let (_folder, path) = folder();
    let out = path("out.safetensors");
    let file = fixture("hostile/eval.pt");
    let message = complaint(&["convert", &file, text(&out)], 1);
    mentions(&message, &["eval", "never imported or called"]);
    assert!(!out.exists());
    let good = fixture("weights/bfloat16.pt");
    let message = complaint(&["convert", &good, text(&path("out.npz"))], 1);
    mentions(&message, &["BF16", "safetensors"]);
    let message = complaint(&["convert", &good, text(&path("out.csv"))], 2);
    mentions(&message, &["weights", "--to", "safetensors, pt, npz"]);
    let message = complaint(&["convert", &good, text(&out), "--strip-prefix", "net."], 1);
    mentions(&message, &["bfloat16.pt", "no name begins with `net.`"]);
    fs::write(path("text.pt"), "some text").expect("written");
    let message = complaint(&["convert", text(&path("text.pt")), text(&out)], 1);
    mentions(&message, &["text.pt", "no known format"]);
    let message = complaint(&["show", &good, "--graph"], 2);
    mentions(&message, &["weights only"]);
    assert!(!out.exists());
}

#[test]
fn the_layers_and_weights_of_a_checkpoint_are_shown_and_converted() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let once = ["train", "--epochs", "1", "--ema", "0.9"];
    said_in(folder, &[&once[..], &SMALL[..]].concat());
    let file = "runs/mnist-fc/latest/last.safetensors";
    let shown = said_in(folder, &["show", file, "--svg", "layers.svg", "--json"]);
    let found: Value = serde_json::from_str(shown.trim()).expect("a line of JSON");
    let layers = found["graph"].as_array().expect("layers");
    let linear = layers
        .iter()
        .find(|layer| layer["kind"] == "Linear")
        .expect("a linear layer");
    assert!(linear["parameters"].as_u64() > Some(0), "{found}");
    check(&["`spikelet show --graph`"], &[found]);
    assert!(folder.join("layers.svg").is_file());
    said_in(folder, &["convert", file, "weights.pt"]);
    let weights = Weights::read(folder.join("weights.pt")).expect("read");
    assert!(
        weights
            .iter()
            .all(|(name, _)| !name.starts_with("ema.") && !name.starts_with("optimizer."))
    );
    let message = complaint_in(folder, &["show", file, "--graph", "--out", "a.png"]);
    mentions(&message, &["--graph", "--out"]);
}

#[test]
fn a_training_starts_from_weights_of_a_framework() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let once = [&["train", "--epochs", "1"][..], &SMALL].concat();
    said_in(folder, &[&once[..], &["--neuron", "plif"]].concat());
    let file = "runs/mnist-fc/latest/last.safetensors";
    let shown = said_in(folder, &["convert", file, "w.pt", "--to", "spikingjelly"]);
    assert!(
        shown.contains("→ pt of SpikingJelly 2.0 in w.pt"),
        "{shown}"
    );
    let message = complaint_in(folder, &["convert", "w.pt", "x.pt", "--to", "norse"]);
    mentions(&message, &["w.pt is no checkpoint of `spikelet train`"]);
    let message = complaint_in(folder, &["convert", file, "x.pt", "--to", "norse"]);
    mentions(&message, &["Norse 1.1 has no place for", "(Plif)", "help:"]);

    let words = ["--neuron", "plif", "--init-from", "w.pt", "--json"];
    let lines = said_in(folder, &[&once[..], &words].concat());
    let start: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!(start["init_from"]["tensors"], 4, "{start}");
    check(&["`start`"], &[start]);
    // Both of two ranks start from them.
    let ranks = ["--data-parallel", "2", "--device", "cpu", "--lr", "1e-30"];
    said_in(folder, &[&once[..], &words, &ranks].concat());
    let again = "runs/mnist-fc/latest/last.safetensors";
    let read = |file: &str| TensorFile::read(folder.join(file)).expect("a file").tensors;
    said_in(folder, &["convert", again, "again.safetensors"]);
    said_in(folder, &["convert", "w.pt", "w.safetensors"]);
    let (started, given) = (read("again.safetensors"), read("w.safetensors"));
    for (name, tensor) in started.iter().filter(|(name, _)| name.ends_with(".weight")) {
        let same = given.values().any(|given| given == tensor);
        assert!(same, "{name}: {:?}", given.keys());
    }
    // The experiment of the run has the file.
    let text = std::fs::read_to_string(folder.join("runs/mnist-fc/latest/experiment.toml"))
        .expect("a file");
    assert!(text.contains("init_from = \"w.pt\""), "{text}");
    let words = ["--hidden", "32", "--init-from", "w.pt"];
    let message = complaint_in(folder, &[&once[..], &words].concat());
    mentions(&message, &["do not fit the network", "of another shape"]);
}
