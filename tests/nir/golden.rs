//! All reference simulations: the traces of every node equal those of the reference simulator, which is written in
//! NumPy in f64.

use crate::nir::support::graph;
use serde_json::Value;
use spikelet::nir::{ImportOptions, Record, SimulateOptions, simulate};
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nir/golden"))
}

fn cases() -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(folder().join("runs.json")).expect("the list of runs");
    serde_json::from_str(&text).expect("an object")
}

/// The runs of a graph, and the file with their traces.
pub fn case(name: &str) -> (Value, PathBuf) {
    let case = cases()
        .remove(name)
        .unwrap_or_else(|| panic!("there is no case {name}"));
    let path = folder().join(case["traces"].as_str().expect("a file"));
    (case, path)
}

/// The options of a run.
pub fn options(run: &Value, dt: f64) -> ImportOptions {
    fn choice<T: std::str::FromStr<Err: std::fmt::Debug>>(run: &Value, name: &str) -> Option<T> {
        let text = run[name].as_str()?;
        Some(text.replace('_', "-").parse().expect("a known choice"))
    }
    ImportOptions {
        discretization: choice(run, "method"),
        reset: choice(run, "reset"),
        fires: choice(run, "fires"),
        feedback: choice(run, "feedback"),
        v_start: choice(run, "v_start"),
        ..ImportOptions::new(dt)
    }
}

/// The differences between a run and its traces, and the number of traces that were compared.
fn compare(
    traces: &TensorFile,
    run: &str,
    names: &[(String, String)],
    found: &BTreeMap<String, Tensor>,
    tolerance: f64,
) -> (usize, Vec<String>) {
    let (mut compared, mut wrong) = (0, vec![]);
    for (path, expected) in &traces.tensors {
        let Some(path) = path.strip_prefix(&format!("{run}/")) else {
            continue;
        };
        let (node, what) = path.rsplit_once('/').expect("a node and a value");
        let value = if what == "count" { "out" } else { what };
        // The traces of another graph, whose node may stand for several here: a neuron and the Output behind it.
        let renamed = names.iter().filter(|(other, _)| other == node);
        let own = renamed.map(|(_, own)| own.as_str()).chain([node]);
        let own = own
            .filter_map(|own| found.get(&format!("{own}/{value}")))
            .next();
        let Some(own) = own else {
            wrong.push(format!("{path} is missing"));
            continue;
        };
        compared += 1;
        let mut values = own.to_f64();
        if expected.ty().dtype == DType::F32 {
            values = own.cast(DType::F32).to_f64();
        }
        if what == "count" {
            let step = values.len() / own.shape[0];
            values = (0..step)
                .map(|k| values.iter().skip(k).step_by(step).sum())
                .collect();
        } else if own.shape != expected.shape {
            wrong.push(format!(
                "{path} is {:?}, expected {:?}",
                own.shape, expected.shape
            ));
            continue;
        }
        let expected = expected.to_f64();
        let is_spikes = expected.iter().all(|x| x.fract() == 0.0) && value == "out";
        let near = |a: f64, b: f64| (a - b).abs() <= tolerance * b.abs().max(1.0);
        let far = |(a, b): &(&f64, &f64)| match is_spikes {
            true => a != b,
            // NaN is far from everything.
            false => !near(**a, **b),
        };
        let all = values.iter().zip(&expected);
        if let Some(k) = all.clone().position(|pair| far(&pair)) {
            let count = all.filter(far).count();
            wrong.push(format!(
                "{path}: {count} of {} differ, first element {k}: {} instead of {}",
                values.len(),
                values[k],
                expected[k]
            ));
        }
    }
    (compared, wrong)
}

fn check_all(float: DType, tolerance: f64, device: &Arc<dyn Backend>) {
    let (mut runs, mut compared, mut wrong) = (0, 0, vec![]);
    for (name, case) in cases() {
        let graph = graph(&name);
        let dt = case["dt"].as_f64().expect("the length of a step");
        let path = folder().join(case["traces"].as_str().expect("a file"));
        let traces = TensorFile::read(&path).expect("a tensor file");
        let inputs = traces.tensors.iter().filter_map(|(name, tensor)| {
            Some((name.strip_prefix("in/")?.to_string(), tensor.clone()))
        });
        let inputs: BTreeMap<String, Tensor> = inputs.collect();
        let names = case["names"].as_object().into_iter().flatten();
        let names: Vec<(String, String)> = names
            .map(|(own, other)| (other.as_str().expect("a name").to_string(), own.clone()))
            .collect();
        for (run, how) in case["runs"].as_object().expect("runs") {
            let options = SimulateOptions {
                import: options(how, dt),
                record: Record::All,
                float,
                device: Some(device.clone()),
            };
            runs += 1;
            match simulate(&graph, &inputs, &options) {
                Err(error) => wrong.push(format!("{name} {run}: {error}")),
                Ok(made) => {
                    let (count, off) = compare(&traces, run, &names, &made.sequences, tolerance);
                    compared += count;
                    wrong.extend(off.into_iter().map(|text| format!("{name} {text} [{run}]")));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!((runs, compared), (85, 309));
}

fn cpu() -> Arc<dyn Backend> {
    spikelet::device::find("cpu", 0).expect("a CPU")
}

#[test]
fn all_reference_runs_have_the_same_spikes_and_potentials_in_f32() {
    check_all(DType::F32, 1e-5, &cpu());
}

#[test]
fn all_reference_runs_have_the_same_spikes_and_potentials_in_f64() {
    check_all(DType::F64, 1e-9, &cpu());
}

#[cfg(feature = "cuda")]
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn all_reference_runs_have_the_same_spikes_and_potentials_on_a_gpu() {
    check_all(DType::F32, 1e-5, &crate::gpu::gpu());
}
