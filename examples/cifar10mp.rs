//! SpikingFlow's `cifar10mp`: the network of its CIFAR-10 tutorial as a pipeline over four devices,
//! the first of which has two of the five stages.
//!
//! `cargo run --release --example cifar10mp -- 0,1,2,0,3 target/pipeline 100`: the GPUs of the stages, the
//! folder for the timeline, and τ of the neurons, 2 by default and 100 in the tutorial. With too few GPUs, CPU devices
//! train with fewer channels, images and time steps, at a higher learning rate. All else is as in the tutorial.

mod cifar10_parts;

use cifar10_parts::{Images, SIZE};
use spikelet::pipeline::PipelineStep;
use spikelet::prelude::*;
use spikelet::recipes;
use std::path::PathBuf;
use std::time::Instant;

const STEPS: u64 = 20;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let list = arguments.next().unwrap_or_else(|| "0,1,2,0,3".to_string());
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "target/pipeline".into()));
    let tau = cifar10_parts::tau(arguments.next())?;
    if list.split(',').count() != 5 {
        println!("give five devices, such as 0,1,2,0,3");
        return Ok(());
    }
    let (stage_devices, gpus) = cifar10_parts::stage_devices(&list)?;
    // Poisson spikes, cross entropy on the firing rates, Adam.
    let recipe = recipes::find("cifar10-net-spikingflow").expect("it is known");
    let preset = recipe.experiment()?.settings;
    let (channels, batch, split, time_steps, lr) = match gpus {
        true => (256, 64, 4, preset.time_steps, preset.optimizer.lr()),
        false => (8, 16, 8, 10, 1e-2),
    };
    let images = Images::find();
    let mut net = cifar10_parts::parts(&stage_devices, channels, tau);
    let settings = Settings {
        batch_size: batch,
        time_steps,
        optimizer: preset.optimizer.with_lr(lr).into(),
        ..preset
    };

    let partition = net.partition(split, None)?;
    let mut step = PipelineStep::new(&partition, &settings, [3, SIZE, SIZE], net.store_mut()?)?;
    let start = Instant::now();
    for k in 1..=STEPS {
        let found = step.run(&images.batch(batch, k)?, k, 1.0)?;
        let correct = 100.0 * found.get("accuracy").unwrap_or(0.0);
        println!("step {k:2}: loss {:.4}, {correct:.0} % correct", found.loss);
    }
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let rate = (STEPS as usize * batch) as f64 / minutes;
    println!("{rate:.0} images a minute, {batch} a step, {split} a micro-batch");
    for (device, bytes) in partition.devices().iter().zip(step.bytes()) {
        println!(
            "{}: {:.1} MiB",
            device.name(),
            bytes as f64 / f64::from(1 << 20)
        );
    }

    step.record_timeline();
    step.run(&images.batch(batch, 0)?, STEPS + 1, 1.0)?;
    let trace = step.timeline().expect("it was watched");
    trace.save_json(folder.join("cifar10mp.json"))?;
    trace.save_svg(folder.join("cifar10mp.svg"))?;
    let (seconds, idle) = (trace.seconds(), 100.0 * trace.idle());
    println!("one more step: {seconds:.3} s, devices idle for {idle:.0} % of it");
    println!(
        "when each did what: {}",
        folder.join("cifar10mp.svg").display()
    );
    Ok(())
}
