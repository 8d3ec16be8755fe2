//! Every reference case: identical spikes, potentials and real outputs within 1e-6, gradients
//! within 1e-5.

use crate::golden;
use crate::gpu;

use golden::golden;
use gpu::gpu;
use spikelet::device;
use spikelet::graph::{Backend, DType, Tensor};
use spikelet::neuron::run_case;
use spikelet::tensors::TensorFile;
use std::path::PathBuf;
use std::sync::Arc;

fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(golden("")).expect("the reference cases are there");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("readable").path()).collect();
    let is_neuron = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with("net_") && !name.starts_with("enc_")
    };
    paths.retain(is_neuron);
    paths.sort();
    paths
}

fn first_apart(
    given: &Tensor,
    expected: &Tensor,
    near: impl Fn(f64, f64) -> bool,
) -> Option<String> {
    let (a, b) = (given.to_f64(), expected.to_f64());
    assert_eq!(given.shape, expected.shape);
    let k = (0..a.len()).find(|&k| !near(a[k], b[k]))?;
    let n: usize = given.shape.iter().skip(1).product();
    Some(format!(
        "step {}, neuron {}: {} instead of {}",
        k / n.max(1),
        k % n.max(1),
        a[k],
        b[k]
    ))
}

#[test]
fn every_reference_case_gives_the_same_spikes_potentials_and_gradients() {
    check(&device::cpu().expect("the CPU"));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_reference_case_gives_the_same_spikes_potentials_and_gradients_on_a_gpu() {
    check(&gpu());
}

fn check(backend: &Arc<dyn Backend>) {
    let mut failures = vec![];
    let sums = backend.determinism().sums.tolerance();
    let paths = cases();
    assert!(paths.len() > 85);
    for path in paths {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .to_string();
        let case = TensorFile::read(&path).expect("readable case");
        let made = match run_case(&case, &path, backend.clone()) {
            Ok(made) => made,
            Err(error) => {
                failures.push(format!("{name}: {error}"));
                continue;
            }
        };
        let spec = case.metadata.get("spec").cloned().unwrap_or_default();
        let fires = !spec.contains(r#""output": "real""#);
        for (tensor, value) in &made.tensors {
            let Some(expected) = case.tensors.get(tensor) else {
                continue;
            };
            let apart = match tensor.as_str() {
                "spike_seq" if fires => first_apart(value, expected, |a, b| a == b),
                name if !name.starts_with("grad_") => first_apart(value, expected, |a, b| {
                    (a - b).abs() <= 1e-6 * b.abs().max(1.0)
                }),
                _ => {
                    let largest = expected
                        .to_f64()
                        .iter()
                        .fold(0.0_f64, |m, x| m.max(x.abs()));
                    first_apart(value, expected, |a, b| (a - b).abs() <= sums * largest)
                }
            };
            if let Some(apart) = apart {
                failures.push(format!("{name}, {tensor}, {apart}\n    {spec}"));
            }
        }
        let given = ["grad_spike_seq", "grad_v_seq", "grad_out"];
        let results = ["spike_seq", "v_seq", "trace_seq", "out"];
        let expected = case.tensors.keys().filter(|k| {
            let gradient = k.starts_with("grad_") && !given.contains(&k.as_str());
            gradient || results.contains(&k.as_str())
        });
        for missing in expected.filter(|k| !made.tensors.contains_key(*k)) {
            failures.push(format!("{name}: no {missing}"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// With 16-bit storage every device rounds at the same places: spikes are the same, and what is
/// summed in another order is at most one rounding apart.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn reference_cases_in_16_bits_are_the_same_on_a_gpu_as_on_the_cpu() {
    let gpu = gpu();
    let cpu = device::cpu().expect("the CPU");
    let sums = gpu.determinism().sums.tolerance();
    let mut failures = vec![];
    for path in cases() {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .to_string();
        for (dtype, near) in [(DType::BF16, 1.0 / 128.0), (DType::F16, 1.0 / 1024.0)] {
            let mut case = TensorFile::read(&path).expect("readable case");
            for (tensor, value) in &mut case.tensors {
                if ["x_seq", "grad_spike_seq", "grad_v_seq", "grad_out"].contains(&tensor.as_str())
                {
                    *value = value.cast(dtype);
                }
            }
            let run = |backend: &Arc<dyn Backend>| run_case(&case, &path, backend.clone());
            let (on_cpu, on_gpu) = match (run(&cpu), run(&gpu)) {
                (Ok(a), Ok(b)) => (a, b),
                (a, b) => {
                    let said = [a.err(), b.err()].into_iter().flatten();
                    failures.extend(said.map(|e| format!("{name}, {dtype}: {e}")));
                    continue;
                }
            };
            for (tensor, expected) in &on_cpu.tensors {
                let value = &on_gpu.tensors[tensor];
                // Reductions over time sum in another order.
                let exact = tensor.ends_with("_seq") && !tensor.starts_with("grad_");
                let all = expected.to_f64();
                let largest = all.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
                let apart = first_apart(value, expected, |a, b| {
                    a == b || (!exact && (a - b).abs() <= near * b.abs() + sums * largest)
                });
                failures.extend(apart.map(|apart| format!("{name}, {dtype}, {tensor}, {apart}")));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
