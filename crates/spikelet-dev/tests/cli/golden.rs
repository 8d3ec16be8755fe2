//! Every reference case, through the program: exact spikes, potentials within 1e-6, gradients within
//! 1e-5 of the largest, and no result missing.

use crate::common::{golden, said};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;
use std::path::Path;

/// The inputs of a case, except parameters.
const INPUTS: [&str; 7] = [
    "x_seq",
    "x",
    "v_init",
    "label",
    "grad_spike_seq",
    "grad_v_seq",
    "grad_out",
];

const RESULTS: [&str; 7] = [
    "spike_seq",
    "v_seq",
    "trace_seq",
    "out",
    "logits",
    "output",
    "loss",
];

fn is_expected(name: &str) -> bool {
    let result = RESULTS.contains(&name) || name.ends_with("_after");
    let inner = name.ends_with(".spike_seq");
    !INPUTS.contains(&name) && (result || inner || name.starts_with("grad_"))
}

fn check(case: &TensorFile, name: &str, made: &Tensor, expected: &Tensor) -> Result<(), String> {
    let spec = &case.metadata["spec"];
    let fires = !spec.contains(r#""output": "real""#);
    let (given, values) = (made.to_f64(), expected.to_f64());
    let largest = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    // Batch norm subtracts the bias of the layer before it: that gradient is rounding errors only.
    let cancelled = name.starts_with("grad_") && largest < 1e-15;
    let near = |a: f64, b: f64| match name {
        "spike_seq" if fires => a == b,
        _ if cancelled => a.abs() <= 1e-6,
        _ if name.starts_with("grad_") => (a - b).abs() <= 1e-5 * largest,
        _ => (a - b).abs() <= 1e-6 * b.abs().max(1.0),
    };
    let same = made.shape == expected.shape;
    let first = (0..given.len()).find(|&k| !same || !near(given[k], values[k]));
    match first {
        None if same => Ok(()),
        _ => Err(format!(
            "{name} at {first:?}: {:?}, {:?}",
            made.shape, expected.shape
        )),
    }
}

#[test]
fn every_reference_case_gives_its_results_without_reading_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let files = std::fs::read_dir(Path::new(&golden("x")).parent().expect("a folder"));
    let (mut failures, mut count) = (vec![], 0);
    for file in files.expect("the reference cases are there") {
        let path = file.expect("readable").path();
        if path.extension().is_none_or(|end| end != "safetensors") {
            continue;
        }
        count += 1;
        let case = TensorFile::read(&path).expect("a case");
        let mut inputs = case.clone();
        inputs.tensors.retain(|name, _| !is_expected(name));
        let (stripped, out) = (at("case"), at("out"));
        inputs.write(Path::new(&stripped)).expect("written");
        said(&["case", "run", "--case", &stripped, "--out", &out]);
        let made = TensorFile::read(Path::new(&out)).expect("a result");
        for (name, expected) in case.tensors.iter().filter(|(name, _)| is_expected(name)) {
            let checked = match made.tensors.get(name) {
                Some(tensor) => check(&case, name, tensor, expected),
                None => Err(format!("no {name}")),
            };
            failures.extend(
                checked
                    .err()
                    .map(|error| format!("{}: {error}", path.display())),
            );
        }
    }
    assert!(count > 100, "{count} cases");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
