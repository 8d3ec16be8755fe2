//! Regression of a time series: the next value of a noisy wave at every time step, read from a membrane.

use spikelet::data::{Dataset, Field, InMemory};
use spikelet::log::Output;
use spikelet::prelude::*;
use spikelet::train::metric::{self, Metric};
use spikelet::train::{Goal, Outputs, Step};
use std::sync::Arc;

const T: usize = 40;

fn main() -> Result<()> {
    let readout = Lif {
        decay_input: false,
        ..Lif::new(2.0)
    }
    .fires(false);
    let net = Sequential::new()
        .add(Linear::new(1, 64))
        .add(
            Lif {
                decay_input: false,
                ..Lif::new(4.0)
            }
            .surrogate(Atan::default()),
        )
        .add(Linear::new(64, 1))
        .add(readout);
    let step = Step::new(|cx, inputs| {
        let y = net.forward(cx, &inputs["x"])?; // [T, N, 1]
        let target = &inputs["target"];
        // The first steps have too little history.
        let (y, target) = (y.slice(0, 10..T), target.slice(0, 10..T));
        let squares = (&y - &target).square();
        // A metric of one's own: sums over the samples on the device, a function of them on the host.
        let rmse = Metric::new(squares.mean(&[0, 2]).sum_all(), |sums, samples| {
            (sums[0] / samples).sqrt()
        });
        Ok(Outputs::loss(squares.mean_all())
            .metric("rmse", rmse)
            .metric("r2", metric::r2(&rows(&y), &rows(&target))))
    });

    let settings = Settings {
        epochs: 6,
        batch_size: 32,
        optimizer: Adam::new(1e-2).into(),
        clip_norm: Some(1.0),
        ..Settings::default() // the learning rate follows a cosine
    };
    let data = waves(1920)?;
    let report = Trainer::over(step, settings)
        .backend(spikelet::device::find("auto", 0)?)
        .monitor("rmse", Goal::Minimize)
        .output(Output::Text)
        .fit(&data)?;
    if let Some(best) = report.best()
        && let Some(found) = &best.validation
    {
        println!(
            "waves that it did not train on, epoch {}: {found}",
            best.epoch
        );
    }
    Ok(())
}

/// `[T, N, 1]` as a row for each sample.
fn rows(seq: &Var) -> Var {
    seq.permute(&[1, 0, 2]).flatten(1)
}

/// Waves of random frequency and phase with noise, and their next values without noise: `[T, 1]` each.
fn waves(samples: usize) -> Result<Arc<dyn Dataset>> {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / 16_777_216.0
    };
    let (mut x, mut target) = (vec![], vec![]);
    for _ in 0..samples {
        let (frequency, phase) = (0.2 + 0.3 * next(), 6.3 * next());
        let wave = |t: usize| (frequency * t as f32 + phase).sin();
        x.extend((0..T).map(|t| wave(t) + 0.1 * (next() - 0.5)));
        target.extend((0..T).map(|t| wave(t + 1)));
    }
    let sequence = |name| Field::new(name, DType::F32, [T, 1]).sequence();
    let waves = InMemory::new("waves").with(sequence("x"), x)?;
    Ok(Arc::new(waves.with(sequence("target"), target)?))
}
