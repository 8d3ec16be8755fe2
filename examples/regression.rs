//! Regression of a time series: the next value of a noisy wave at every time step, read from a membrane.

use spikelet::graph::op::HostTensor;
use spikelet::prelude::*;
use spikelet::train::metric::{self, Metric};
use spikelet::train::{EpochMetrics, Outputs, Step};

const T: usize = 40;
const N: usize = 32;

fn main() -> Result<()> {
    let readout = NonSpikingLif {
        neuron: Lif {
            decay_input: false,
            ..Lif::new(2.0)
        },
        ..NonSpikingLif::default()
    };
    let net = Sequential::new()
        .add(Linear::new(1, 64).bias(true))
        .add(
            Lif {
                decay_input: false,
                ..Lif::new(4.0)
            }
            .surrogate(Atan::default()),
        )
        .add(Linear::new(64, 1).bias(true))
        .add(readout);
    let step = Step::new(|cx, inputs| {
        let y = net.forward(cx, inputs["x"].clone())?; // [T, N, 1]
        let target = &inputs["target"];
        // The first steps have too little history.
        let (y, target) = (y.slice(0, 10..T), target.slice(0, 10..T));
        let squares = (&y - &target).square();
        // A metric of one's own: sums over the samples on the device, a function of them on the host.
        let rmse = Metric::new(squares.mean(&[0, 2]).sum_all(), |sums, samples| {
            (sums[0] / samples).sqrt()
        });
        Ok(Outputs::loss(squares.mean_all())
            .metric("RMSE", rmse)
            .metric("R²", metric::r2(&rows(&y), &rows(&target))))
    })
    .batch_size(N)
    .sequence("x", DType::F32, [T, 1])
    .sequence("target", DType::F32, [T, 1])
    .optimizer(Adam::default(), 1e-2)
    .clip(Clip::Norm(1.0));

    let mut store = VarStore::new(spikelet::device::find("auto", 0)?);
    let mut train = step.compile(&mut store)?;
    let cosine = LrSchedule::Cosine { min_factor: 0.0 };
    for epoch in 0..6 {
        let mut metrics = EpochMetrics::default();
        for k in 0..50 {
            train.set_learning_rate_factor(
                cosine.factor(f64::from(epoch) + f64::from(k) / 50.0, 6.0),
            );
            let (x, target) = waves(u64::try_from(epoch * 50 + k).unwrap_or(0));
            metrics.add(&train.run([
                ("x", HostTensor::F32(&x)),
                ("target", HostTensor::F32(&target)),
            ])?);
        }
        println!("epoch {}: {metrics}", epoch + 1);
    }
    let mut eval = step.compile_eval(&mut store)?;
    let (x, target) = waves(1_000_000);
    let found = eval.run([
        ("x", HostTensor::F32(&x)),
        ("target", HostTensor::F32(&target)),
    ])?;
    println!("other waves: {found}");
    Ok(())
}

/// `[T, N, 1]` as a row for each sample.
fn rows(seq: &Var) -> Var {
    seq.permute(&[1, 0, 2]).flatten(1)
}

/// Waves of random frequency and phase with noise, `[T, N, 1]`, and their next values without noise.
fn waves(seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / 16_777_216.0
    };
    let own: Vec<[f32; 2]> = (0..N).map(|_| [0.2 + 0.3 * next(), 6.3 * next()]).collect();
    let (mut x, mut target) = (vec![], vec![]);
    for t in 0..T {
        for [frequency, phase] in &own {
            let wave = |t: usize| (frequency * t as f32 + phase).sin();
            x.push(wave(t) + 0.1 * (next() - 0.5));
            target.push(wave(t + 1));
        }
    }
    (x, target)
}
