//! Losses and metrics on a GPU: every operation has a kernel there, and the results are those of the CPU.

#[path = "../crates/spikelet-nn/tests/losses/cases.rs"]
mod cases;
use crate::gpu;

use cases::Case;
use gpu::gpu;
use spikelet::graph::op::HostTensor;
use spikelet::graph::{Backend, Graph, Plan, Tracer};
use spikelet::prelude::*;
use spikelet::train::metric::{self, Metric};
use spikelet_cuda::{OfflineTarget, Properties};
use std::sync::Arc;

/// A loss with its gradients by all inputs, in f32.
fn loss(case: &Case) -> Result<Graph> {
    let tracer = Tracer::new(DType::F32);
    let named = case.inputs.iter().enumerate();
    let inputs: Vec<Var> = named
        .map(|(k, (shape, _))| tracer.input(&format!("x{k}"), DType::F32, shape.clone()))
        .collect();
    let labels = tracer.input("labels", DType::I64, [case.labels.len()]);
    let loss = cases::build(&case.name, &inputs, &labels);
    tracer.check()?;
    let grads = tracer.gradients(&loss, &inputs.iter().collect::<Vec<_>>());
    tracer.output("loss", &loss);
    for (k, grad) in grads.iter().enumerate() {
        tracer.output(&format!("grad{k}"), grad);
    }
    Ok(tracer.finish()?)
}

/// The loss of a case, then its gradients.
fn values(case: &Case, backend: Arc<dyn Backend>) -> Result<Vec<Vec<f64>>> {
    let mut program = Program::new(loss(case)?, &mut VarStore::new(backend))?;
    for (k, (_, values)) in case.inputs.iter().enumerate() {
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let name = format!("x{k}");
        if program.has_input(&name) {
            program.set(&name, &values)?;
        }
    }
    if program.has_input("labels") {
        program.set("labels", &case.labels)?;
    }
    program.run()?;
    let grads = (0..case.inputs.len()).map(|k| format!("grad{k}"));
    let names = std::iter::once("loss".to_string()).chain(grads);
    names.map(|name| Ok(program.get(&name)?.to_f64())).collect()
}

#[track_caller]
fn assert_near(name: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{name}: number of elements");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= tolerance * (1.0 + expected.abs()),
            "{name}[{k}] is {found}, expected {expected}"
        );
    }
}

#[test]
fn every_loss_has_kernels_on_gpus() -> Result<()> {
    let gpu = OfflineTarget::new(Properties::large((9, 0)));
    for case in cases::all() {
        Plan::new(loss(&case)?, &gpu).check_target(&gpu)?;
    }
    Ok(())
}

#[test]
fn losses_in_f32_have_pytorchs_values_and_gradients() -> Result<()> {
    for case in cases::all() {
        let found = values(&case, spikelet::device::cpu()?)?;
        assert_near(&case.name, &found[0], &[case.loss], 1e-5);
        for (found, expected) in found[1..].iter().zip(&case.grads) {
            assert_near(&case.name, found, expected, 1e-5);
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn losses_on_a_gpu_have_the_values_and_gradients_of_the_cpu() -> Result<()> {
    for case in cases::all() {
        let expected = values(&case, spikelet::device::cpu()?)?;
        let found = values(&case, gpu())?;
        for (found, expected) in found.iter().zip(&expected) {
            assert_near(&case.name, found, expected, 1e-5);
        }
    }
    Ok(())
}

/// Samples, and classes or columns.
const N: usize = 61;
const WIDTH: usize = 5;

/// A metric of scores, labels and targets.
type Build = fn(&Var, &Var, &Var) -> Metric;

/// All metrics: of scores and labels, and of predictions and targets.
const METRICS: [(&str, Build); 7] = [
    ("accuracy", |x, labels, _| metric::accuracy(x, labels)),
    ("top_k", |x, labels, _| metric::top_k(x, labels, 2)),
    ("f1", |x, labels, _| metric::f1(x, labels)),
    ("f1_of_class", |x, labels, _| {
        metric::f1_of_class(x, labels, 3)
    }),
    ("confusion_matrix", |x, labels, _| {
        metric::confusion_matrix(x, labels)
    }),
    ("r2", |x, _, targets| metric::r2(x, targets)),
    ("mean", |x, _, targets| metric::mean(&(x - targets))),
];

/// A metric, and its sums as the output of a graph.
fn metric_of(build: Build) -> Result<(Metric, Graph)> {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [N, WIDTH]);
    let labels = tracer.input("labels", DType::I64, [N]);
    let targets = tracer.input("targets", DType::F32, [N, WIDTH]);
    let metric = build(&x, &labels, &targets);
    tracer.check()?;
    tracer.output("sums", metric.sums());
    Ok((metric, tracer.finish()?))
}

/// The value of a metric, and its sums.
fn measured(build: Build, backend: Arc<dyn Backend>) -> Result<(f64, Vec<f64>)> {
    let (metric, graph) = metric_of(build)?;
    let mut program = Program::new(graph, &mut VarStore::new(backend))?;
    // A few values, so that some scores are equal.
    let value = |k: usize, salt: usize| ((k * 7919 + salt * 104_729) % 13) as f32 / 4.0 - 1.5;
    let x: Vec<f32> = (0..N * WIDTH).map(|k| value(k, 1)).collect();
    let targets: Vec<f32> = (0..N * WIDTH).map(|k| value(k, 2)).collect();
    let labels: Vec<i64> = (0..N).map(|k| (k * k % WIDTH) as i64).collect();
    for (name, values) in [
        ("x", HostTensor::F32(&x)),
        ("labels", HostTensor::I64(&labels)),
        ("targets", HostTensor::F32(&targets)),
    ] {
        if program.has_input(name) {
            program.set(name, values)?;
        }
    }
    program.run()?;
    let sums = program.get("sums")?.to_f64();
    Ok((metric.value(&sums, N as f64), sums))
}

#[test]
fn every_metric_has_kernels_on_gpus() -> Result<()> {
    let gpu = OfflineTarget::new(Properties::large((9, 0)));
    for (_, build) in METRICS {
        Plan::new(metric_of(build)?.1, &gpu).check_target(&gpu)?;
    }
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn metrics_on_a_gpu_are_those_of_the_cpu() -> Result<()> {
    for (name, build) in METRICS {
        let (expected, expected_sums) = measured(build, spikelet::device::cpu()?)?;
        let (found, sums) = measured(build, gpu())?;
        assert_near(name, &sums, &expected_sums, 1e-6);
        assert_near(name, &[found], &[expected], 1e-6);
    }
    Ok(())
}
