//! Monitors, recorded values and measurements of health: the same on a GPU as on the CPU.

use spikelet::data::{DType, DataLoader, Field, InMemory, LoaderConfig};
use spikelet::graph::Backend;
use spikelet::layer::ConvTransposed2d;
use spikelet::prelude::*;
use spikelet::train::{Monitor, Outputs, Recording, Step};
use std::sync::Arc;

const T: usize = 6;
const N: usize = 23;
const INPUTS: usize = 7;
const HIDDEN: usize = 40;
const CLASSES: usize = 3;

/// Eighths: all sums of this network are exact in f32, in any order.
fn eighths(len: usize, seed: usize) -> Vec<f32> {
    let value = |k: usize| (((k + seed) * 7919 + seed * 31) % 29) as f32 / 8.0 - 1.25;
    (0..len).map(value).collect()
}

fn step() -> Step<'static> {
    let net = Sequential::new()
        .add(Linear::new(INPUTS, HIDDEN).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(HIDDEN, CLASSES).bias(false))
        .add(If::new());
    Step::new(move |cx, inputs| {
        let x = inputs["x"].repeat_over_time(T);
        let scores = net.forward(cx, &x)?.mean(&[0]);
        let loss = loss::cross_entropy(&scores, &inputs["labels"]);
        Ok(Outputs::loss(loss).output("scores", &scores))
    })
    .input("x", DType::F32, [INPUTS])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(1e-3))
}

/// What is observed on a device.
struct Observed {
    /// The values of all monitors.
    values: Vec<(String, f64)>,
    /// A file with all recorded values.
    file: Vec<u8>,
}

fn observed(device: Arc<dyn Backend>) -> Result<Observed> {
    let labels: Vec<i64> = (0..N).map(|k| (k % CLASSES) as i64).collect();
    let x = Field::new("x", DType::F32, [INPUTS]);
    let data = InMemory::new("eighths")
        .with(x, eighths(N * INPUTS, 3))?
        .with(Field::new("labels", DType::I64, []), labels)?;
    let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    let mut store = VarStore::new(device);
    step().compile_eval(&mut store)?;
    for (name, shape, seed) in [
        ("0.weight", [HIDDEN, INPUTS], 1),
        ("2.weight", [CLASSES, HIDDEN], 2),
    ] {
        let values = eighths(shape[0] * shape[1], seed);
        store.set(name, &Tensor::f32(shape, values))?;
    }
    let monitors = [
        Monitor::Rate,
        Monitor::Neurons,
        Monitor::Potential,
        Monitor::SynapticOperations,
    ];
    let monitored = monitors
        .into_iter()
        .fold(step(), |step, monitor| step.monitor(monitor, "*"));
    let metrics = monitored.evaluate(&loader, &mut store)?;
    let values = metrics
        .iter()
        .map(|(name, value)| (name.to_string(), value));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.npz");
    step().record(&Recording::new("*"), &loader, &mut store, &path)?;
    Ok(Observed {
        values: values.collect(),
        file: std::fs::read(&path).expect("it was written"),
    })
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn monitors_and_recorded_values_on_a_gpu_are_those_of_the_cpu() -> Result<()> {
    let cpu = observed(spikelet::device::cpu()?)?;
    let gpu = observed(spikelet::device::find("cuda", 0)?)?;
    assert!(cpu.file == gpu.file, "the recorded values differ");
    let (expected, found) = (cpu.values, gpu.values);
    assert_eq!(expected.len(), found.len());
    for ((name, expected), (_, found)) in expected.iter().zip(&found) {
        let counted = [".rate", ".dead", ".saturated", ".synaptic_operations"]
            .iter()
            .any(|end| name.ends_with(end));
        // Sums of potentials are added in another order.
        let allowed = if counted {
            0.0
        } else {
            1e-6 * (1.0 + expected.abs())
        };
        assert!(
            (expected - found).abs() <= allowed,
            "{name}: {expected} {found}"
        );
    }
    assert!(
        expected
            .iter()
            .any(|(name, rate)| name == "1.rate" && *rate > 0.0)
    );
    Ok(())
}

/// The synaptic operations of convolutions on a device, by layer.
fn operations_of_convolutions(device: Arc<dyn Backend>) -> Result<Vec<(String, f64)>> {
    let net = Sequential::new()
        .add(Conv2d::new(1, 6, 3).bias(false).stride(2).padding(1))
        .add(If::new())
        .add(
            Conv2d::new(6, 4, [3, 2])
                .bias(false)
                .padding([2, 0])
                .groups(2),
        )
        .add(If::new())
        .add(ConvTransposed2d::new(
            Conv2d::new(4, 2, 3).bias(false).stride(2),
        ));
    let step = Step::new(move |cx, inputs| {
        let y = cx.trace(&net, inputs["x"].repeat_over_time(T))?;
        Ok(Outputs::loss(y.mean_all()))
    })
    .input("x", DType::F32, [1, 9, 9])
    .optimizer(Adam::new(1e-3))
    .monitor(Monitor::SynapticOperations, "*");
    let x = Field::new("x", DType::F32, [1, 9, 9]);
    let data = InMemory::new("eighths").with(x, eighths(N * 81, 5))?;
    let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    let mut store = VarStore::new(device);
    step.clone().batch_size(1).compile_eval(&mut store)?;
    for (name, shape) in [
        ("0.weight", [6, 1, 3, 3]),
        ("2.weight", [4, 3, 3, 2]),
        ("4.weight", [4, 2, 3, 3]),
    ] {
        let values = eighths(shape.iter().product(), shape[0]);
        store.set(name, &Tensor::f32(shape, values))?;
    }
    let metrics = step.evaluate(&loader, &mut store)?;
    let values = metrics
        .iter()
        .map(|(name, value)| (name.to_string(), value));
    Ok(values.collect())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn synaptic_operations_of_convolutions_on_a_gpu_are_those_of_the_cpu() -> Result<()> {
    let expected = operations_of_convolutions(spikelet::device::cpu()?)?;
    assert!(expected.len() == 3 && expected.iter().all(|(_, value)| *value > 0.0));
    let found = operations_of_convolutions(spikelet::device::find("cuda", 0)?)?;
    assert_eq!(expected, found);
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_run_on_a_gpu_is_measured_and_keeps_its_bits() -> Result<()> {
    let digits = spikelet::data::synthetic::digits_of(0, 2000, 200);
    let settings = Settings {
        epochs: 3,
        time_steps: 4,
        batch_size: 32,
        ..Settings::default()
    };
    let network = spikelet::network::Network::find("mnist-fc")?;
    let run = |monitors: &[Monitor]| {
        let mut trainer = Trainer::network(&network, settings.clone())?;
        for monitor in monitors {
            trainer = trainer.monitor_layers(*monitor, "*");
        }
        trainer
            .backend(spikelet::device::find("cuda", 0)?)
            .fit(&digits)
    };
    let plain = run(&[])?;
    assert!(plain.findings.is_empty(), "{:?}", plain.findings);
    assert!(plain.evidence.probes.len() >= 2);
    let rates: Vec<f64> = plain
        .evidence
        .probes
        .iter()
        .flat_map(|p| &p.layers)
        .map(|l| l.rate)
        .collect();
    assert!(rates.iter().any(|rate| *rate > 0.0), "{rates:?}");
    let watched = run(&[Monitor::Rate, Monitor::Neurons])?;
    for (plain, watched) in plain.history.iter().zip(&watched.history) {
        assert_eq!(plain.train.loss, watched.train.loss);
    }
    Ok(())
}
