//! Reference cases of deep networks (`tests/models`), through the program. Firing rates are identical. In f32, scores, loss
//! and statistics are within 1e-5 of the largest value, gradients within 1e-4 of a parameter's norm; in f64 all within
//! 1e-9. Gradients that are 0 but for rounding are within 1e-6 of the norm of all.

use crate::common::{complaint, said};
use serde_json::{Value, json};
use spikelet::tensors::TensorFile;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

fn spec(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(format!("{name}.json")));
    serde_json::from_str(&text.expect("a case")).expect("JSON")
}

fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the reference cases are there");
    let paths = files.map(|file| file.expect("readable").path());
    let cases = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut names: Vec<String> = cases
        .map(|path| {
            path.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// What a case is to give.
fn expected(name: &str, dtype: &str) -> Vec<(String, Vec<f64>)> {
    let mut all = vec![];
    for middle in ["", ".running"] {
        let path = folder().join(format!("{name}.{dtype}{middle}.safetensors"));
        if path.exists() {
            let file = TensorFile::read(&path).expect("a file of results");
            all.extend(file.tensors.into_iter().map(|(name, t)| (name, t.to_f64())));
        }
    }
    all
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// How far each element of a result may be from its reference.
fn tolerances(spec: &Value, all: &[(String, Vec<f64>)], name: &str, f64s: bool) -> Vec<f64> {
    let of = |name: &str| all.iter().find(|(known, _)| known == name).map(|(_, v)| v);
    let values = of(name).expect("it is expected");
    let relative = |f32s: f64| if f64s { 1e-9 } else { f32s };
    let all_within = |share: f64, scale: f64| vec![share * scale; values.len()];
    let gradients = |of_parameter: &dyn Fn(usize) -> usize| {
        let (norms, total) = (
            of("grad_norm").expect("norms"),
            of("grad_norm_total").expect("a total")[0],
        );
        let parameters = spec["parameters"].as_array().expect("a list");
        let each = parameters.iter().zip(norms).enumerate();
        each.flat_map(|(k, (parameter, norm))| {
            let zero = parameter["gradient_is_zero"] == json!(true);
            let most = if zero {
                1e-6 * total
            } else {
                relative(1e-4) * norm
            };
            vec![most; of_parameter(k)]
        })
        .collect()
    };
    match name {
        "rates" => all_within(0.0, 0.0),
        "loss" => all_within(relative(1e-5), largest(values).max(1.0)),
        "grad_norm" => gradients(&|_| 1),
        "grad_head" => gradients(&|k| {
            let shape = spec["parameters"][k]["shape"].as_array().expect("a shape");
            let elements: u64 = shape.iter().filter_map(Value::as_u64).product();
            elements.min(64) as usize
        }),
        "grad_norm_total" | "input_grad_norm" | "input_grad_head" => {
            all_within(relative(1e-4), largest(values))
        }
        _ => all_within(relative(1e-5), largest(values)),
    }
}

/// What differs in the results of all cases on a device.
fn failures(device: &[&str], dtypes: &[&str]) -> Vec<String> {
    let temporary = tempfile::tempdir().expect("a folder");
    let out = temporary.path().join("out").to_string_lossy().into_owned();
    let (mut failures, names) = (vec![], names());
    assert_eq!(names.len(), 26);
    for name in &names {
        let (spec, path) = (spec(name), folder().join(format!("{name}.json")));
        for &dtype in dtypes {
            let path = path.to_string_lossy();
            let run = [
                "case", "run", "--case", &path, "--out", &out, "--dtype", dtype,
            ];
            said(&[&run[..], device].concat());
            let made = TensorFile::read(Path::new(&out)).expect("a result");
            let all = expected(name, dtype);
            for (result, values) in &all {
                let Some(found) = made.tensors.get(result) else {
                    failures.push(format!("{name}, {dtype}: no {result}"));
                    continue;
                };
                let (found, most) = (
                    found.to_f64(),
                    tolerances(&spec, &all, result, dtype == "f64"),
                );
                assert_eq!(
                    (found.len(), most.len()),
                    (values.len(), values.len()),
                    "{name}, {result}"
                );
                let each = found.iter().zip(values).zip(most);
                let far = each.filter(|((a, b), most)| (*a - *b).abs() > *most || a.is_nan());
                match far.count() {
                    0 => {}
                    count => failures.push(format!("{name}, {dtype}: {count} of {result}")),
                }
            }
        }
    }
    failures
}

#[test]
fn every_deep_network_gives_its_results() {
    let failures = failures(&[], &["f32", "f64"]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_deep_network_gives_its_results_on_a_gpu() {
    let failures = failures(&["--device", "cuda"], &["f32"]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs a changed case, which must be refused with the file's name.
fn refused(name: &str, change: impl FnOnce(&mut Value)) -> String {
    let temporary = tempfile::tempdir().expect("a folder");
    let mut spec = spec(name);
    change(&mut spec);
    let (path, out) = (
        temporary.path().join("case.json"),
        temporary.path().join("out"),
    );
    std::fs::write(&path, spec.to_string()).expect("written");
    let (path, text) = (path.to_string_lossy(), out.to_string_lossy());
    let message = complaint(&["case", "run", "--case", &path, "--out", &text], 1);
    assert!(message.contains(&*path) && !out.exists(), "{message}");
    message
}

#[test]
fn cases_of_images_that_are_not_square_run() {
    let temporary = tempfile::tempdir().expect("a folder");
    let (path, out) = (
        temporary.path().join("case.json"),
        temporary.path().join("out"),
    );
    let mut spec = spec("sew_resnet18");
    spec["input"]["shape"] = json!([2, 3, 48, 32]);
    std::fs::write(&path, spec.to_string()).expect("written");
    let (path, text) = (path.to_string_lossy(), out.to_string_lossy());
    said(&["case", "run", "--case", &path, "--out", &text]);
    let found = TensorFile::read(&out).expect("a file of results");
    assert_eq!(found.tensors["logits"].shape, [4, 2, 10]);
}

#[test]
fn cases_of_deep_networks_that_do_not_fit_are_refused() {
    let changes: [(&str, Value, &str); 8] = [
        ("/model/zoo", json!("resnet9000"), "resnet9000"),
        ("/model/sizes/connect", json!("XOR"), "xor"),
        ("/model/sizes/width", json!(1_u64 << 40), "case.json"),
        ("/labels", json!([3, 11]), "label 11"),
        ("/labels", json!([3]), "labels"),
        ("/loss", json!("hinge"), "hinge"),
        ("/input/shape", json!([2, 3, 48]), "images"),
        ("/parameters/0/name", json!("conv9.weight"), "conv9.weight"),
    ];
    for (place, value, named) in changes {
        let message = refused("sew_resnet18_and", |spec| {
            *spec.pointer_mut(place).expect("it is there") = value;
        });
        assert!(message.contains(named), "{place}: {message}");
    }
}
