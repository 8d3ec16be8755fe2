//! Reference cases of EventProp, through the program: the same spikes in the same order; times, outputs and gradients
//! within 1e-8, on a grid within 1e-10.

use crate::common::mentions;
use crate::reference::{inputs, is_expected, largest, refused, results};
use serde_json::{Value, json};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;
use std::path::{Path, PathBuf};

const CASES: [(&str, &str); 4] = [
    ("spikelet-eventprop", "eventprop_recurrent_ttfs"),
    ("spikelet-eventprop", "eventprop_ttfs"),
    ("spikelet-eventprop", "eventprop_voltage"),
    ("spikelet-nn", "eventprop_grid"),
];

fn path((owner, name): (&str, &str)) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    crates.join(format!("{owner}/tests/golden/{name}.safetensors"))
}

/// Checks that a case is refused with this part of a message.
fn refuse(case: &TensorFile, spec: &Value, options: &[&str], part: &str) {
    mentions(&refused(case, spec, options), &[part]);
}

#[test]
fn every_case_of_eventprop_gives_its_results_from_inputs_and_constants_alone() {
    for name in CASES {
        let mut expected = TensorFile::read(path(name)).expect("a case").tensors;
        expected.retain(|tensor, _| is_expected(tensor));
        let (case, spec) = inputs(&path(name));
        let made = results(&case, &spec, &["--dtype", "f64"]).tensors;
        assert_eq!(
            made.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "{name:?}"
        );
        for (tensor, expected) in &expected {
            let found = &made[tensor];
            assert_eq!(found.shape, expected.shape, "{name:?} {tensor}");
            let (a, b) = (found.to_f64(), expected.to_f64());
            let relative = match tensor.as_str() {
                "out.s" | "out.spike_neuron" | "out.spike_sample" => 0.0,
                _ if name.1 == "eventprop_grid" => 1e-10,
                _ => 1e-8,
            };
            let most = relative * largest(&b);
            let near = a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= most);
            assert!(near, "{name:?} {tensor}");
        }
    }
}

#[test]
fn wrong_cases_of_eventprop_are_refused_by_name() {
    let (case, spec) = inputs(&path(CASES[1]));
    let f64 = &["--dtype", "f64"];
    refuse(&case, &spec, &["--dtype", "f32"], "--dtype f64");
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
        refuse(&case, &spec, f64, part);
    }
    let count = case.tensors["in.time"].len();
    let changed = |name: &str, tensor: Tensor, part: &str| {
        let mut case = case.clone();
        case.tensors.insert(name.to_string(), tensor);
        refuse(&case, &spec, f64, part);
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

    let (case, spec) = inputs(&path(CASES[3]));
    let mut wrong = spec.clone();
    wrong["constants"]["dt"] = json!(0.0);
    refuse(&case, &wrong, f64, "dt");
    let mut wrong = case.clone();
    wrong
        .tensors
        .insert("param.w_rec".to_string(), Tensor::f64([3, 3], vec![0.0; 9]));
    refuse(&wrong, &spec, f64, "param.w_rec");
}
