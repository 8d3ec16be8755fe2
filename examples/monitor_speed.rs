//! The cost of monitors of firing rates: evaluations with and without them, and training steps with a monitored forward
//! pass every 50 steps, as the trainer does: `[network] [device] [precision] [batch size]`.

use spikelet::data::{Batch, DataLoader, LoaderConfig, synthetic};
use spikelet::network::Network;
use spikelet::prelude::*;
use spikelet::train::engine::InFlight;
use spikelet::train::{BatchShape, EvalStep, Monitor, Step};
use std::time::Instant;

const STEPS: usize = 50;
const ROUNDS: usize = 7;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut word = |otherwise: &str| words.next().unwrap_or(otherwise.to_string());
    let network = Network::find(&word("mnist-fc"))?;
    let device = spikelet::device::find(&word("auto"), 0)?;
    let precision: Precision = word("f32").parse().map_err(spikelet::Error::other)?;
    let samples: usize = word("256").parse().map_err(spikelet::Error::other)?;
    let module = network.module()?;
    let settings = Settings {
        batch_size: samples,
        precision,
        ..Settings::of_network(&network)
    };
    let shape = BatchShape {
        batch: samples,
        image: network.image(),
    };
    let digits = synthetic::digits_of(0, samples, 1).train;
    let config = LoaderConfig {
        batch_size: samples,
        ..LoaderConfig::default()
    };
    let batch = DataLoader::new(digits, config)?.epoch(0, 0).next();
    let batch = batch.expect("an epoch has a batch")?;

    let mut store = VarStore::new(device);
    let mut train = Step::classifier(&*module, &settings, shape)?.compile(&mut store)?;
    let eval = Step::classifier_eval(&*module, &settings, shape)?.outputs(false);
    let rate = eval.clone().monitor(Monitor::Rate, "*");
    let neurons = rate.clone().monitor(Monitor::Neurons, "*");
    let mut plain = eval.compile_eval(&mut store)?;
    let mut rate = rate.compile_eval(&mut store)?;
    let mut neurons = neurons.compile_eval(&mut store)?;

    let mut times = [(); 5].map(|()| vec![]);
    for _ in 0..ROUNDS {
        for (times, eval) in times.iter_mut().zip([&mut plain, &mut rate, &mut neurons]) {
            times.push(evaluations(eval, &batch)?);
        }
        for (times, monitored) in times[3..].iter_mut().zip([false, true]) {
            let mut in_flight = InFlight::new();
            let start = Instant::now();
            for _ in 0..STEPS {
                in_flight.wait_if_full()?;
                in_flight.push(train.start_batch(&batch)?, ());
            }
            let sampled = match monitored {
                true => Some(rate.start_batch(&batch)?),
                false => None,
            };
            while in_flight.wait_for_oldest()?.is_some() {}
            sampled.map(|pending| pending.wait()).transpose()?;
            times.push(start.elapsed().as_secs_f64() / STEPS as f64);
        }
    }
    let [plain, rate, neurons, train, monitored] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        1e3 * times[ROUNDS / 2]
    });
    println!(
        "{}, T = {}, batch {samples}, {precision}, ms",
        network.name(),
        settings.time_steps
    );
    println!(
        "evaluation {plain:.3}, with rate {rate:.3} ({:.2} ×), with rate,neurons {neurons:.3} ({:.2} ×)",
        rate / plain,
        neurons / plain
    );
    println!(
        "training {train:.3}, with rate every {STEPS} steps {monitored:.3} ({:.2} % slower)",
        100.0 * (monitored / train - 1.0)
    );
    Ok(())
}

/// Seconds of an evaluation of the batch.
fn evaluations(eval: &mut EvalStep, batch: &Batch) -> Result<f64> {
    let mut in_flight = InFlight::new();
    let start = Instant::now();
    for _ in 0..STEPS / 5 {
        in_flight.wait_if_full()?;
        in_flight.push(eval.start_batch(batch)?, ());
    }
    while in_flight.wait_for_oldest()?.is_some() {}
    Ok(start.elapsed().as_secs_f64() * 5.0 / STEPS as f64)
}
