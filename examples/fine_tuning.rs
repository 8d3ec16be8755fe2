//! Fine-tuning: a trunk that was trained on one task is loaded into another network, frozen, then trained slowly.

use spikelet::prelude::*;
use spikelet::train::{Outputs, Step, TrainStep, metric};

const T: usize = 8;
const N: usize = 64;

/// A shared trunk with an output layer `head` for this many classes.
fn network(trunk: &str, classes: usize) -> Sequential {
    let layers = Sequential::new()
        .add(Linear::new(8, 64))
        .add(Lif::new(2.0))
        .add(Linear::new(64, 64))
        .add(Lif::new(2.0));
    Sequential::new()
        .add_named(trunk, layers)
        .add_named("head", Linear::new(64, classes))
}

fn classifier(net: &Sequential) -> Step<'_> {
    Step::new(|cx, inputs| {
        let scores = net
            .forward(cx, &inputs["x"].repeat_over_time(T))?
            .mean(&[0]);
        let labels = &inputs["labels"];
        Ok(Outputs::loss(loss::cross_entropy(&scores, labels))
            .metric("accuracy", metric::accuracy(&scores, labels)))
    })
    .batch_size(N)
    .input("x", DType::F32, [8])
    .input("labels", DType::I64, [])
}

fn train(step: &mut TrainStep, steps: u64, batch: fn(u64) -> (Vec<f32>, Vec<i64>)) -> Result<()> {
    for k in 1..=steps {
        let (x, labels) = batch(k);
        let found = step.run((("x", &x), ("labels", &labels)))?;
        if k == steps {
            println!("  step {k}: {found}");
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let path = std::env::temp_dir().join("spikelet-pretrained.safetensors");
    let device = spikelet::device::find("auto", 0)?;

    println!("pretraining on 8 classes");
    let mut store = VarStore::new(device.clone());
    let net = network("backbone", 8);
    let mut step = classifier(&net)
        .optimizer(Adam::new(1e-2))
        .compile(&mut store)?;
    train(&mut step, 200, largest)?;
    step.save(&store, &path)?;

    println!("a new head for 2 classes, the trunk frozen");
    let mut store = VarStore::new(device);
    let net = network("trunk", 2);
    let definition = classifier(&net).optimizer(Adam::new(1e-2));
    let mut head = definition.clone().freeze("trunk.*").compile(&mut store)?;
    let report = head.load(
        &mut store,
        &path,
        false,
        &[("backbone.", "trunk."), ("head.", "former head.")],
    )?;
    println!("  loaded {:?}, new are {:?}", report.loaded, report.kept);
    train(&mut head, 60, larger_half)?;

    println!("all layers, the trunk ten times as slowly, with averaged weights");
    let all = definition
        .group("trunk.*", Adam::new(1e-3))
        .ema(0.95)
        .name("all");
    let mut step = all.compile(&mut store)?; // the same parameters, since it is the same store
    train(&mut step, 60, larger_half)?;
    let mut averaged = step.averaged(&store)?;
    let mut eval = all.compile_eval(&mut averaged)?;
    let (x, labels) = larger_half(1000);
    let found = eval.run((("x", &x), ("labels", &labels)))?;
    println!("  averaged weights, other samples: {found}");
    Ok(())
}

/// Pseudo-random numbers from 0 to 1, and for each eight of them a label.
fn samples(seed: u64, label: impl Fn(&[f32]) -> usize) -> (Vec<f32>, Vec<i64>) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / 16_777_216.0
    };
    let x: Vec<f32> = std::iter::repeat_with(next).take(8 * N).collect();
    let labels = x.chunks(8).map(|row| label(row) as i64).collect();
    (x, labels)
}

/// The index of the largest number.
fn largest(seed: u64) -> (Vec<f32>, Vec<i64>) {
    samples(seed, |row| {
        (0..8)
            .max_by(|&a, &b| row[a].total_cmp(&row[b]))
            .unwrap_or(0)
    })
}

/// Whether the largest number is in the second half.
fn larger_half(seed: u64) -> (Vec<f32>, Vec<i64>) {
    let (x, labels) = largest(seed + 10_000);
    (x, labels.into_iter().map(|label| label / 4).collect())
}
