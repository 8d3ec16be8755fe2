//! Reference cases of conversions to spiking networks (`tests/learning`), through the program: spikes are identical; the
//! rest is compared with the f64 reference, in f32 within 8 × the noise of f32 or 1e-5 of the largest value, in f64
//! within 1e-10.

use crate::common::{complaint, said};
use serde_json::{Value, json};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;
use std::path::{Path, PathBuf};

const CASES: [&str; 8] = [
    "ann2snn_cnn_bn_999_maxpool",
    "ann2snn_cnn_bn_max",
    "ann2snn_cnn_channels_half",
    "ann2snn_mlp_999",
    "ann2snn_mlp_factor",
    "ann2snn_mlp_max",
    "qcfs_l4",
    "qcfs_l8",
];

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/learning");
    folder.join(format!("{name}.safetensors"))
}

/// The inputs of a case, with the parts of its specification that are read.
fn inputs(name: &str) -> (TensorFile, Value) {
    let mut case = TensorFile::read(path(name)).expect("a case");
    let spec: Value = serde_json::from_str(&case.metadata["spec"]).expect("JSON");
    (case.tensors).retain(|name, _| name.starts_with("in.") || name.starts_with("param."));
    let read = ["group", "kind", "constants"];
    let read = read.map(|key| (key.to_string(), spec[key].clone()));
    case.metadata.clear();
    (case, Value::Object(read.into_iter().collect()))
}

/// The results of a case, or the message of its refusal.
fn run(case: &TensorFile, spec: &Value, dtype: &str) -> Result<TensorFile, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut case, at) = (case.clone(), folder.path().join("case.safetensors"));
    case.metadata.insert("spec".to_string(), spec.to_string());
    case.write(&at).expect("written");
    let out = folder.path().join("out.safetensors");
    let [at, text] = [&at, &out].map(|path| path.to_string_lossy().into_owned());
    let words = [
        "case", "run", "--case", &at, "--out", &text, "--dtype", dtype,
    ];
    if dtype == "refused" {
        return Err(complaint(&words[..6], 1));
    }
    said(&words);
    Ok(TensorFile::read(&out).expect("a result"))
}

#[test]
fn every_case_of_a_conversion_gives_its_results_from_inputs_and_constants_alone() {
    let mut failures = vec![];
    for name in CASES {
        let reference = path(&format!("f64/{name}"));
        let expected = TensorFile::read(reference).expect("a reference");
        let whole = TensorFile::read(path(name)).expect("a case");
        let noise: Value = serde_json::from_str(&whole.metadata["spec"]).expect("JSON");
        let (case, spec) = inputs(name);
        for dtype in ["f32", "f64"] {
            let made = run(&case, &spec, dtype).expect("it runs");
            let results: Vec<&String> = made.tensors.keys().collect();
            assert_eq!(
                results,
                expected.tensors.keys().collect::<Vec<_>>(),
                "{name}"
            );
            for (tensor, expected) in &expected.tensors {
                let (a, b) = (made.tensors[tensor].to_f64(), expected.to_f64());
                let largest = b.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
                let noise = noise["f32_noise"][tensor].as_f64().unwrap_or(0.0);
                let relative = match (tensor.starts_with("out.s."), dtype) {
                    (true, _) => 0.0,
                    (false, "f64") => 1e-10,
                    (false, _) => (8.0 * noise).max(1e-5),
                };
                let far = |(x, y): (&f64, &f64)| (x - y).abs() > relative * largest || x.is_nan();
                if made.tensors[tensor].shape != expected.shape || a.iter().zip(&b).any(far) {
                    failures.push(format!("{name}, {dtype}: {tensor}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs a changed case, which must be refused with these words.
fn refused(name: &str, words: &[&str], change: impl Fn(&mut TensorFile, &mut Value)) {
    let (mut case, mut spec) = inputs(name);
    change(&mut case, &mut spec);
    let message = run(&case, &spec, "refused").expect_err("refused");
    for word in words {
        assert!(message.contains(word), "{word}: {message}");
    }
}

fn set(case: &mut TensorFile, name: &str, tensor: Tensor) {
    case.tensors.insert(name.to_string(), tensor);
}

#[test]
fn constants_that_are_wrong_are_named() {
    for (key, value, word) in [
        ("mode", json!("median"), "`mode` is \"median\""),
        ("mode", json!("100.5%"), "`mode`"),
        ("mode", json!(-0.5), "`mode`"),
        ("mode", json!(null), "`mode`"),
        ("momentum", json!(1.5), "momentum"),
        ("momentum", json!("fast"), "ann2snn"),
        ("eps", json!(0.0), "epsilon"),
        ("T", json!(0), "T"),
        ("T", json!(1_000_000_000_u64), "elements"),
        ("channel_wise", json!(3), "ann2snn"),
        ("layers", json!([["lstm", "fc0", {}]]), "`lstm`"),
        ("layers", json!([["linear", "fc9", {}]]), "param.fc9.weight"),
        (
            "layers",
            json!([["linear", "fc0", {}], ["avgpool", "p", {}]]),
            "`kernel`",
        ),
        (
            "layers",
            json!([["linear", "fc1", {}], ["relu", "act0", {}]]),
            "fc1",
        ),
        ("layers", json!([]), "layers"),
        ("layers", json!([["linear", "fc0", {}]]), "no activation"),
    ] {
        refused("ann2snn_mlp_max", &[word], |_, spec| {
            spec["constants"][key] = value.clone()
        });
    }
    for (key, value) in [("dilation", json!([2, 2])), ("groups", json!(2))] {
        refused("ann2snn_cnn_bn_max", &[key, "conv0"], |_, spec| {
            spec["constants"]["layers"][0][2][key] = value.clone();
        });
    }
    for (key, value) in [("L", json!(0)), ("L", json!(-1)), ("L", json!(1_u64 << 40))] {
        refused("qcfs_l4", &[], |_, spec| {
            spec["constants"][key] = value.clone()
        });
    }
    refused("qcfs_l4", &["`lstm`", "ann2snn", "qcfs"], |_, spec| {
        spec["kind"] = json!("lstm")
    });
    refused("qcfs_l4", &["constants"], |_, spec| {
        spec["constants"] = Value::Null
    });
}

#[test]
fn tensors_that_are_wrong_are_named() {
    for name in [
        "in.x",
        "in.calibration",
        "param.fc0.weight",
        "param.fc2.weight",
    ] {
        refused(
            "ann2snn_mlp_max",
            &[name.trim_start_matches("param.")],
            |case, _| {
                case.tensors.remove(name);
            },
        );
        refused("ann2snn_mlp_max", &[], |case, _| {
            set(case, name, Tensor::f32([3], [1.0; 3]))
        });
    }
    refused("ann2snn_mlp_max", &["act0", "scale 0"], |case, _| {
        set(case, "in.calibration", Tensor::f32([1, 2, 10], [0.0; 20]));
        set(case, "param.fc0.bias", Tensor::f32([12], [-1.0; 12]));
    });
    refused(
        "ann2snn_mlp_max",
        &["fc0.weight", "not finite"],
        |case, _| {
            set(
                case,
                "param.fc0.weight",
                Tensor::f32([12, 10], [f32::INFINITY; 120]),
            );
        },
    );
    refused("ann2snn_cnn_bn_max", &["bn1.running_var"], |case, _| {
        case.tensors.remove("param.bn1.running_var");
    });
    for name in ["in.x", "in.x_seq", "in.grad_ann", "param.lambda"] {
        refused("qcfs_l4", &[name], |case, _| {
            case.tensors.remove(name);
        });
        refused("qcfs_l4", &["in."], |case, _| {
            set(case, "in.x_seq", Tensor::f32([2, 3], [1.0; 6]))
        });
    }
    for lambda in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        refused("qcfs_l4", &["`param.lambda`"], |case, _| {
            set(case, "param.lambda", Tensor::f32([1], [lambda]));
        });
    }
}
