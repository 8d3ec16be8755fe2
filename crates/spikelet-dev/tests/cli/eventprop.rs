//! Reference cases of EventProp, through the program: the same spikes in the same order; times, outputs and gradients
//! within 1e-8, on a grid within 1e-10.

use crate::common::{complaint, said};
use serde_json::{Value, json};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;
use std::path::Path;

const CASES: [(&str, &str); 4] = [
    ("spikelet-eventprop", "eventprop_recurrent_ttfs"),
    ("spikelet-eventprop", "eventprop_ttfs"),
    ("spikelet-eventprop", "eventprop_voltage"),
    ("spikelet-nn", "eventprop_grid"),
];

fn read(case: (&str, &str)) -> TensorFile {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = format!("{}/tests/golden/{}.safetensors", case.0, case.1);
    TensorFile::read(crates.join(file)).expect("a case")
}

/// The inputs of a case, with the parts of its specification that are read.
fn inputs(case: (&str, &str)) -> (TensorFile, Value) {
    let mut case = read(case);
    let spec: Value = serde_json::from_str(&case.metadata["spec"]).expect("JSON");
    (case.tensors).retain(|name, _| name.starts_with("in.") || name.starts_with("param."));
    case.metadata.clear();
    let spec =
        json!({"group": spec["group"], "kind": spec["kind"], "constants": spec["constants"]});
    (case, spec)
}

/// Runs a case; `words` are further options. With an expected message, the case is refused with it.
fn run(
    case: &TensorFile,
    spec: &Value,
    words: &[&str],
    refused: Option<&str>,
) -> Option<TensorFile> {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut case, at) = (case.clone(), folder.path().join("case.safetensors"));
    case.metadata.insert("spec".to_string(), spec.to_string());
    case.write(&at).expect("written");
    let out = folder.path().join("out.safetensors");
    let [at, text] = [&at, &out].map(|path| path.to_string_lossy().into_owned());
    let words = [&["case", "run", "--case", &at, "--out", &text], words].concat();
    match refused {
        None => {
            said(&words);
            Some(TensorFile::read(&out).expect("a result"))
        }
        Some(part) => {
            let message = complaint(&words, 1);
            assert!(message.contains(part), "{message}\nhas no {part}");
            None
        }
    }
}

#[test]
fn every_case_of_eventprop_gives_its_results_from_inputs_and_constants_alone() {
    for name in CASES {
        let mut expected = read(name).tensors;
        expected.retain(|tensor, _| tensor.starts_with("out.") || tensor.starts_with("grad."));
        let (case, spec) = inputs(name);
        let made = run(&case, &spec, &["--dtype", "f64"], None)
            .expect("a result")
            .tensors;
        assert_eq!(
            made.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "{name:?}"
        );
        for (tensor, expected) in &expected {
            let found = &made[tensor];
            assert_eq!(found.shape, expected.shape, "{name:?} {tensor}");
            let (a, b) = (found.to_f64(), expected.to_f64());
            let largest = b.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let relative = match tensor.as_str() {
                "out.s" | "out.spike_neuron" | "out.spike_sample" => 0.0,
                _ if name.1 == "eventprop_grid" => 1e-10,
                _ => 1e-8,
            };
            let near = a
                .iter()
                .zip(&b)
                .all(|(a, b)| (a - b).abs() <= relative * largest);
            assert!(near, "{name:?} {tensor}");
        }
    }
}

#[test]
fn wrong_cases_of_eventprop_are_refused_by_name() {
    let (case, spec) = inputs(CASES[1]);
    let f64 = &["--dtype", "f64"];
    run(&case, &spec, &["--dtype", "f32"], Some("--dtype f64"));
    for (constant, value, part) in [
        ("tau_m", json!(0.0), "tau_m"),
        ("tau_s", json!(-5.0), "tau_s"),
        ("v_threshold", json!(0.0), "v_threshold"),
        ("t_end", json!(3.0), "in.time"),
        ("output", json!("qif"), "output"),
        ("alpha", json!("none"), "constants"),
    ] {
        let mut spec = spec.clone();
        spec["constants"][constant] = value;
        run(&case, &spec, f64, Some(part));
    }
    let count = case.tensors["in.time"].len();
    let changed = |name: &str, tensor: Tensor, part: &str| {
        let mut case = case.clone();
        case.tensors.insert(name.to_string(), tensor);
        run(&case, &spec, f64, Some(part));
    };
    changed("in.unit", Tensor::i64([count], vec![9; count]), "in.unit");
    changed("in.unit", Tensor::i64([2], vec![0; 2]), "in.unit");
    changed(
        "in.sample",
        Tensor::i64([count], vec![2; count]),
        "in.sample",
    );
    changed(
        "in.time",
        Tensor::f64([count], vec![-1.0; count]),
        "in.time",
    );
    changed("in.label", Tensor::i64([2], vec![0, 3]), "in.label");
    changed(
        "param.w_out",
        Tensor::f64([3, 5], vec![1.0; 15]),
        "param.w_out",
    );
    changed(
        "param.w_in",
        Tensor::f64([4, 5], vec![f64::NAN; 20]),
        "input weights",
    );

    let (case, spec) = inputs(CASES[3]);
    let mut wrong = spec.clone();
    wrong["constants"]["dt"] = json!(0.0);
    run(&case, &wrong, f64, Some("dt"));
    let mut wrong = case.clone();
    wrong
        .tensors
        .insert("param.w_rec".to_string(), Tensor::f64([3, 3], vec![0.0; 9]));
    run(&wrong, &spec, f64, Some("param.w_rec"));
}
