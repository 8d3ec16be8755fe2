//! `spikelet neuron …` and `spikelet surrogate …` on things that exist.

use crate::common::{code, golden, run, said, said_json, stdout};
use serde_json::json;
use spikelet::graph::{Data, Tensor};
use spikelet::neuron;
use spikelet::surrogate;
use spikelet::tensors::TensorFile;
use std::path::Path;

#[test]
fn the_lists_have_every_neuron_and_every_surrogate() {
    let neurons = said_json(&["neuron", "list"]);
    let names: Vec<&str> = neurons.iter().filter_map(|n| n["name"].as_str()).collect();
    assert_eq!(
        names,
        neuron::entries().iter().map(|e| e.name).collect::<Vec<_>>()
    );
    let lif = &neurons[names.iter().position(|n| *n == "lif").expect("lif")];
    assert_eq!(lif["constants"]["tau"], 2.0);
    assert_eq!(lif["constants"]["surrogate"]["name"], "sigmoid");

    let text = said(&["surrogate", "list"]);
    for entry in surrogate::entries() {
        assert!(
            text.lines()
                .any(|line| line.starts_with(entry.name) && line.contains(entry.summary)),
            "{text}"
        );
    }
}

#[test]
fn a_neurons_equations_are_readable() {
    insta::assert_snapshot!(
        "show_lif_atan",
        said(&["neuron", "show", "lif", "--surrogate", "atan"])
    );
    insta::assert_snapshot!("show_plif", said(&["neuron", "show", "plif"]));
    let soft = said(&[
        "neuron",
        "show",
        "lif",
        "--set",
        "tau=100",
        "--set",
        "v_reset=null",
        "--reset-grad",
        "detach",
    ]);
    insta::assert_snapshot!("show_lif_soft_reset_detached", soft);
    insta::assert_snapshot!(
        "show_surrogate_atan",
        said(&["surrogate", "show", "atan", "--set", "alpha=4"])
    );
}

#[test]
fn every_neuron_can_be_shown_with_every_surrogate() {
    let step = &said_json(&[
        "neuron",
        "show",
        "lif",
        "--surrogate",
        "atan",
        "--set",
        "surrogate.alpha=3",
    ])[0];
    assert_eq!(step["step"]["S"], "H - 1 ≥ 0");
    assert_eq!(
        step["constants"]["surrogate"],
        json!({"name": "atan", "alpha": 3.0})
    );
    assert!(step["step_gradients"]["x"].is_string());
    for entry in neuron::entries() {
        let text = said(&[
            "neuron",
            "show",
            entry.name,
            "--surrogate",
            "multi_level_spike_count",
        ]);
        assert!(text.contains("∂x ="), "{text}");
    }
    for entry in surrogate::entries() {
        assert!(said(&["surrogate", "show", entry.name]).contains("g′(x) ="));
    }
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn a_case_is_run_and_compared_with_what_it_expects() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = path(folder.path(), "deep/ours.safetensors");
    for name in [
        "lif_hard_surrogate_atan",
        "plif_T3_N1",
        "softbp_if_hard_sigmoid1",
    ] {
        let case = golden(name);
        let told = &said_json(&["neuron", "run", "--case", &case, "--out", &out])[0];
        assert!(told["tensors"]["grad_x_seq"].is_array(), "{told}");
        let made = TensorFile::read(Path::new(&out)).expect("a tensor file");
        assert!(made.metadata.contains_key("spec"));
        let close = ["neuron", "diff", &out, &case, "--tolerance", "1e-5"];
        assert!(said(&close).contains("within"), "{name}");
    }
    // Any number of threads gives the same bits.
    let case = golden("lif_hard_surrogate_atan");
    let [one, two] = [path(folder.path(), "1"), path(folder.path(), "2")];
    said(&[
        "neuron",
        "run",
        "--case",
        &case,
        "--out",
        &one,
        "--threads",
        "1",
        "--device",
        "cpu",
    ]);
    said(&[
        "neuron",
        "run",
        "--case",
        &case,
        "--out",
        &two,
        "--threads",
        "2",
    ]);
    assert_eq!(said(&["neuron", "diff", &one, &two]), "4 tensors equal\n");
}

fn write(folder: &Path, name: &str, tensors: &[(&str, Tensor)]) -> String {
    let mut file = TensorFile::default();
    file.tensors.extend(
        tensors
            .iter()
            .map(|(name, tensor)| ((*name).to_string(), tensor.clone())),
    );
    let path = folder.join(name);
    file.write(&path).expect("written");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_difference_is_told_by_its_first_step_and_neuron() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = Tensor::f32([3, 4], [0.0; 12]);
    let mut other = zeros.clone();
    if let Data::F32(values) = &mut other.data {
        values[6] = 0.5;
        values[11] = -2.0;
    }
    let same = Tensor::f32([2], [f32::NAN, 1.0]);
    let a = write(
        folder.path(),
        "a",
        &[
            ("v_seq", zeros.clone()),
            ("s", same.clone()),
            ("only", zeros.clone()),
        ],
    );
    let b = write(folder.path(), "b", &[("v_seq", other), ("s", same)]);

    let output = run(&["neuron", "diff", &a, &b]);
    assert_eq!(code(&output), 3);
    assert_eq!(
        stdout(&output),
        "v_seq: first at time step 1, neuron 2: 0 and 0.5; 2 elements differ, by at most 2e0\n1 of 2 tensors differ\n"
    );
    let output = run(&["neuron", "diff", &a, &b, "--tolerance", "0.5", "--json"]);
    assert_eq!(code(&output), 3);
    let first: serde_json::Value =
        serde_json::from_str(stdout(&output).lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        first,
        json!({"tensor": "v_seq", "time_step": 2, "neuron": [3], "values": [0.0, -2.0], "largest": 2.0, "count": 1})
    );
    assert_eq!(
        code(&run(&[
            "neuron",
            "diff",
            &a,
            &b,
            "--tolerance",
            "2",
            "--quiet"
        ])),
        0
    );

    let narrow = write(
        folder.path(),
        "narrow",
        &[("v_seq", Tensor::f32([3, 2], [0.0; 6]))],
    );
    let output = run(&["neuron", "diff", &a, &narrow]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).starts_with("v_seq: shapes [3, 4] and [3, 2]\n"));
}

#[test]
fn the_page_on_all_neurons_is_up_to_date() {
    let made = tempfile::tempdir().expect("a folder");
    said(&["neuron", "docs", "--out", &path(made.path(), "neurons.md")]);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let pictures = |folder: &Path| -> Vec<String> {
        let files = std::fs::read_dir(folder.join("neurons")).expect("a folder of pictures");
        let mut names: Vec<String> = files
            .map(|f| {
                f.expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    let names = pictures(made.path());
    assert_eq!(names.len(), neuron::entries().len());
    assert_eq!(pictures(&kept), names);
    let pictures = names.iter().map(|name| format!("neurons/{name}"));
    for name in pictures.chain(["neurons.md".to_string()]) {
        assert!(
            read(made.path(), &name) == read(&kept, &name),
            "docs/{name} is old: run `spikelet neuron docs --out docs/neurons.md`"
        );
    }
}

#[test]
fn a_constant_is_learnt_if_it_is_asked_for() {
    let shown = said(&["neuron", "show", "lif", "--set", "trainable.tau=channel"]);
    let learned = "learnable: tau, one for each channel, starts at 2";
    assert!(
        shown.contains(learned) && shown.contains("∂tau ="),
        "{shown}"
    );
    let bounded = r#"trainable.tau={"bound": {"above": {"low": 1}}}"#;
    let shown = said(&["neuron", "show", "lif", "--set", bounded]);
    assert!(shown.contains("p, which stands for"), "{shown}");
    let output = run(&["neuron", "show", "lif", "--set", "learn.tua=layer"]);
    assert_eq!(code(&output), 2);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("no constant `tua`") && told.contains("tau"),
        "{told}"
    );
}

#[test]
fn a_parallel_neuron_says_what_it_charges_with() {
    let shown = said(&["neuron", "show", "psn"]);
    assert!(shown.contains("x is what the neuron makes of the whole sequence first"));
    assert!(shown.contains("W·X + b"), "{shown}");
}

#[test]
fn all_neurons_are_measured_in_one_table() {
    let words = "bench neuron --all --time-steps 2 --neurons 256 --repeats 1 --warm-up 0 --threads 1 --device cpu";
    let words: Vec<&str> = words.split(' ').collect();
    let text = said(&words);
    for entry in neuron::entries() {
        let lines = text
            .lines()
            .filter(|l| l.split_whitespace().next() == Some(entry.name));
        let with_copy = lines.filter(|l| l.contains(" % ")).count();
        assert_eq!(with_copy, 2, "{}: forward and backward\n{text}", entry.name);
    }
}
