//! Data, loss, loop and neuron of one's own: a class and a speed from one trunk.

use spikelet::data::{DataLoader, Dataset, Field, InMemory, SampleRandom, held_out};
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step, metric};
use std::sync::Arc;

const T: usize = 20; // time steps
const CHANNELS: usize = 6;

/// One trunk, two heads.
#[derive(Module)]
#[module(children)]
struct Net {
    trunk: Sequential,
    class: Linear,
    speed: Linear,
}

fn main() -> Result<()> {
    let (train, test) = held_out(&recordings()?, 0.2)?;
    let (train, test) = (DataLoader::new(train, 32)?, DataLoader::new(test, 32)?);
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
    let mut training = step.compile(&mut store)?;
    for epoch in 0..10 {
        for batch in train.epoch(epoch, 0) {
            training.run_batch(&batch?)?;
        }
        let tested = step.evaluate(&test, &mut store)?;
        println!("epoch {epoch}: {}", tested.values());
    }
    Ok(())
}

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

/// Recordings of three kinds, in each of which two channels spike the more often the faster it is.
fn recordings() -> Result<Arc<dyn Dataset>> {
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
    let data = InMemory::new("recordings")
        .with(Field::new("x", DType::F32, [T, CHANNELS]).sequence(), x)?
        .with(Field::new("labels", DType::I64, []), labels)?
        .with(Field::new("speed", DType::F32, [1]), speeds)?;
    Ok(Arc::new(data))
}
