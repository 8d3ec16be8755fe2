//! A small network, its data, and a reference in f64 that is written out by hand.

use spikelet_train::prelude::*;
use spikelet_train::{Outputs, Step, StepMetrics, TrainStep};

/// Samples of a batch, inputs, hidden units.
pub const N: usize = 4;
pub const INPUTS: usize = 3;
pub const HIDDEN: usize = 5;

/// Two linear layers.
pub fn linear_net() -> Sequential {
    Sequential::new()
        .add_named("first", Linear::new(INPUTS, HIDDEN).bias(false))
        .add_named("second", Linear::new(HIDDEN, 1).bias(true))
}

/// The step of a network on `x`, `[N, 3]`, as a sequence of one time step, with targets `[N, 1]`.
pub fn regression(net: &Sequential, samples: usize) -> Step<'_> {
    Step::new(|cx, inputs| {
        let y = net
            .forward(cx, &inputs["x"].repeat_over_time(1))?
            .mean(&[0]);
        let loss = (&y - &inputs["target"]).square().mean_all();
        Ok(Outputs::loss(&loss).metric("mse", &loss).output("y", &y))
    })
    .batch_size(samples)
    .input("x", DType::F32, [INPUTS])
    .input("target", DType::F32, [1])
}

/// Pseudo-random numbers from −1 to 1.
pub fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / 8_388_608.0 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Inputs and targets of a batch.
pub fn batch(seed: u64, samples: usize) -> (Vec<f32>, Vec<f32>) {
    (
        numbers(2 * seed, samples * INPUTS),
        numbers(2 * seed + 1, samples),
    )
}

/// Trains on the batch of this seed.
pub fn train(step: &mut TrainStep, seed: u64) -> Result<StepMetrics> {
    let (x, target) = batch(seed, step.batch_size());
    step.run((("x", &x), ("target", &target)))
}

pub fn store() -> Result<VarStore> {
    Ok(VarStore::new(spikelet_nn::device::cpu()?))
}

/// All tensors of a store.
pub fn tensors(store: &VarStore) -> Result<Vec<(String, Vec<f64>)>> {
    let names: Vec<String> = store.names().map(String::from).collect();
    let each = names.into_iter().map(|name| {
        let values = store.get(&name)?.to_f64();
        Ok((name, values))
    });
    each.collect()
}

/// The network in f64.
#[derive(Clone, Debug)]
pub struct Reference {
    pub first: Vec<f64>,
    pub second: Vec<f64>,
    pub bias: f64,
}

/// The gradients of the parameters.
pub type Gradients = Reference;

impl Reference {
    pub fn of(store: &VarStore) -> Result<Self> {
        Ok(Self {
            first: store.get("first.weight")?.to_f64(),
            second: store.get("second.weight")?.to_f64(),
            bias: store.get("second.bias")?.to_f64()[0],
        })
    }

    /// Loss and gradients of a batch.
    pub fn gradients(&self, (x, target): &(Vec<f32>, Vec<f32>)) -> (f64, Gradients) {
        let samples = target.len() as f64;
        let mut grads = Self {
            first: vec![0.0; self.first.len()],
            second: vec![0.0; self.second.len()],
            bias: 0.0,
        };
        let mut loss = 0.0;
        for (x, target) in x.chunks(INPUTS).zip(target) {
            let hidden: Vec<f64> = self
                .first
                .chunks(INPUTS)
                .map(|row| row.iter().zip(x).map(|(w, x)| w * f64::from(*x)).sum())
                .collect();
            let y: f64 = hidden
                .iter()
                .zip(&self.second)
                .map(|(h, w)| h * w)
                .sum::<f64>()
                + self.bias;
            let error = y - f64::from(*target);
            loss += error * error / samples;
            let dy = 2.0 * error / samples;
            grads.bias += dy;
            for (j, h) in hidden.iter().enumerate() {
                grads.second[j] += dy * h;
                for (i, x) in x.iter().enumerate() {
                    grads.first[j * INPUTS + i] += dy * self.second[j] * f64::from(*x);
                }
            }
        }
        (loss, grads)
    }

    pub fn parts(&mut self) -> [&mut [f64]; 3] {
        [
            &mut self.first,
            &mut self.second,
            std::slice::from_mut(&mut self.bias),
        ]
    }

    pub fn assert_close(&self, store: &VarStore, what: &str) -> Result<()> {
        let found = Self::of(store)?;
        let (mut a, mut b) = (self.clone(), found);
        for (a, b) in a.parts().into_iter().zip(b.parts()) {
            for (a, b) in a.iter().zip(b.iter()) {
                assert!((a - b).abs() < 2e-6, "{what}: expected {a}, found {b}");
            }
        }
        Ok(())
    }
}
