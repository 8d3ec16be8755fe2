//! Data, loss, loop and neuron of one's own: a class and a speed from one trunk.

use spikelet::data::{DataLoader, Field, InMemory, LoaderConfig, SampleRandom, held_out};
use spikelet::prelude::*;
use spikelet::train::step::EpochMetrics;
use spikelet::train::{Outputs, Step, metric};
use std::sync::Arc;

const T: usize = 20; // time steps
const CHANNELS: usize = 6;

/// A leaky neuron whose input saturates: H[t] = a·V[t−1] + tanh X[t].
#[derive(Clone, Debug, Schema)]
struct Saturating {
    /// Decay factor of the potential.
    #[schema(default = 0.8, from = 0.0, to = 1.0)]
    decay: f64,
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    common: Common,
}

impl Neuron for Saturating {
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") * self.decay + x.tanh()
    }
}

/// One trunk, two heads.
#[derive(Module)]
#[module(children)]
struct Net {
    trunk: Sequential,
    class: Linear,
    speed: Linear,
}

fn main() -> Result<()> {
    let (train, test) = held_out(&(Arc::new(recordings()?) as _), 0.2)?;
    let config = LoaderConfig {
        batch_size: 32,
        ..LoaderConfig::default()
    };
    let train = DataLoader::new(train, config.clone())?;
    let test = DataLoader::new(test, config)?;

    let net = Net {
        trunk: Sequential::new()
            .add(Linear::new(CHANNELS, 64))
            .add(Saturating::default()),
        class: Linear::new(64, 3),
        speed: Linear::new(64, 1),
    };
    let step = Step::from_loader(&train, |cx, batch| {
        let h = net.trunk(cx, &batch["x"])?;
        let scores = net.class(cx, &h)?.mean(&[0]);
        let speed = net.speed(cx, &h)?.mean(&[0]);
        let error = loss::mse(&speed, &batch["speed"]);
        let loss = loss::cross_entropy(&scores, &batch["labels"]) + error;
        Ok(Outputs::loss(loss).metric("accuracy", metric::accuracy(&scores, &batch["labels"])))
    })?
    .optimizer(Adam::new(1e-2));

    let mut store = VarStore::new(spikelet::device::find("auto", 0)?);
    let (mut training, mut evaluation) =
        (step.compile(&mut store)?, step.compile_eval(&mut store)?);
    for epoch in 0..10 {
        for batch in train.epoch(epoch, 0) {
            training.run_batch(&batch?)?;
        }
        let mut tested = EpochMetrics::default();
        for batch in test.epoch(0, 0) {
            tested.add(&evaluation.run_batch(&batch?)?);
        }
        println!("epoch {epoch}: {}", tested.values());
    }
    Ok(())
}

/// Recordings of three kinds, in each of which two channels spike the more often the faster it is.
fn recordings() -> Result<InMemory> {
    let (mut x, mut labels, mut speeds) = (vec![], vec![], vec![]);
    for sample in 0..640 {
        let mut random = SampleRandom::of_sample(0, 0, sample);
        let (label, speed) = (sample as usize % 3, random.between(0.0, 1.0));
        x.extend((0..T * CHANNELS).map(|at| {
            let fast = at % CHANNELS / 2 == label;
            f32::from(random.chance(if fast { 0.1 + 0.6 * speed } else { 0.1 }))
        }));
        labels.push(label as i64);
        speeds.push(speed);
    }
    Ok(InMemory::new("recordings")
        .with(Field::f32("x", [T, CHANNELS]).sequence(), x)?
        .with(Field::i64("labels", []), labels)?
        .with(Field::f32("speed", [1]), speeds)?)
}
