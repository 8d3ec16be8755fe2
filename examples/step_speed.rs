//! The time of a step of one's own beside that of the trainer's step, for the network of `mnist-fc`: `[device]`.

use spikelet::data::{DataLoader, LoaderConfig, synthetic};
use spikelet::prelude::*;
use spikelet::recipes;
use spikelet::train::engine::InFlight;
use spikelet::train::{BatchShape, Outputs, Step, TrainStep, metric};
use std::time::Instant;

const N: usize = 256;
const STEPS: usize = 200;
const T: usize = 50;

fn main() -> Result<()> {
    let device = std::env::args().nth(1).unwrap_or("auto".to_string());
    let device = spikelet::device::find(&device, 0)?;
    let recipe = recipes::find("mnist-fc-spikingflow").expect("it is known");
    let module = recipe.experiment()?.network.module()?;
    let settings = Settings {
        time_steps: T,
        batch_size: N,
        ..Settings::default()
    };

    let shape = BatchShape {
        batch: N,
        image: [1, 28, 28],
    };
    let trainers = Step::classifier(&*module, &settings, shape)?;
    let own = Step::new(|cx, inputs| {
        let scores = cx
            .trace_encoded(&*module, &Poisson, &inputs["images"], T)?
            .mean();
        let labels = &inputs["labels"];
        Ok(Outputs::loss(loss::mse_one_hot(&scores, labels))
            .metric("accuracy", metric::accuracy(&scores, labels)))
    })
    .batch_size(N)
    .input("images", DType::F32, [1, 28, 28])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(2e-3));

    let digits = synthetic::digits_of(0, N, 1).train;
    let loader = DataLoader::new(
        digits,
        LoaderConfig {
            batch_size: N,
            ..LoaderConfig::default()
        },
    )?;
    let batch = loader.epoch(0, 0).next().expect("an epoch has a batch")?;
    // Medians of alternating rounds.
    let mut stores = [VarStore::new(device.clone()), VarStore::new(device.clone())];
    let [a, b] = &mut stores;
    let mut steps = [trainers.compile(a)?, own.compile(b)?];
    let time = |step: &mut TrainStep| -> Result<f64> {
        let mut in_flight = InFlight::new();
        let start = Instant::now();
        for _ in 0..STEPS {
            in_flight.wait_if_full()?;
            in_flight.push(step.start_batch(&batch)?, ());
        }
        while in_flight.wait_for_oldest()?.is_some() {}
        Ok(start.elapsed().as_secs_f64() * 1e3 / STEPS as f64)
    };
    let mut found = [vec![], vec![]];
    for round in 0..8 {
        for (step, times) in steps.iter_mut().zip(&mut found) {
            let ms = time(step)?;
            // The first round compiles and records.
            if round > 0 {
                times.push(ms);
            }
        }
    }
    let [trainers, own] = found.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!(
        "{}: the trainer's step {trainers:.3} ms, one's own {own:.3} ms, ratio {:.3}",
        device.name(),
        own / trainers
    );
    Ok(())
}
