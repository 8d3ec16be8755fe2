//! SpikingFlow's `cifar10cmp`: the same image at each time step. The pipeline is started once and
//! its stages process consecutive chunks of time; the first convolution, whose input is the image
//! itself, runs once for all steps of a chunk.
//!
//! `cargo run --release --example cifar10cmp -- 0,1,2,0,3 100`: the GPUs of the stages, and τ of the neurons, 2 by
//! default and 100 in the tutorial. With too few GPUs, CPU devices train with fewer channels, images and time steps, at a
//! higher learning rate. The program fails if the network does not spike, or spikes otherwise for a repeated image: on CPU
//! devices at all, on GPUs in more than one spike of a hundred.

mod cifar10_parts;

use cifar10_parts::{Images, SIZE};
use spikelet::pipeline::{PipelineStep, Reduce};
use spikelet::prelude::*;
use spikelet::recipes;
use std::time::Instant;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let list = arguments.next().unwrap_or_else(|| "0,1,2,0,3".to_string());
    let tau = cifar10_parts::tau(arguments.next())?;
    if list.split(',').count() != 5 {
        println!("give five devices, such as 0,1,2,0,3");
        return Ok(());
    }
    let (stage_devices, gpus) = cifar10_parts::stage_devices(&list)?;
    let recipe = recipes::find("cifar10-net-spikingflow").expect("it is known");
    let preset = recipe.experiment()?.settings;
    let (channels, count, time_steps, lr) = match gpus {
        true => (256, 32, preset.time_steps, preset.optimizer.lr()),
        false => (8, 16, 10, 1e-2),
    };
    let images = Images::find();
    let mut net = cifar10_parts::parts(&stage_devices, channels, tau);

    // The complete batch, a fifth of the time steps per chunk.
    let settings = Settings {
        batch_size: count,
        encoder: Direct.into(),
        time_steps,
        optimizer: preset.optimizer.with_lr(lr).into(),
        ..preset
    };
    let partition = net.partition(count, Some(time_steps / 5))?;
    let mut step = PipelineStep::new(&partition, &settings, [3, SIZE, SIZE], net.store_mut()?)?;
    for k in 1..=20 {
        let found = step.run(&images.batch(count, k)?, k, 1.0)?;
        println!("step {k:2}: loss {:.4}", found.loss);
    }

    let batch = images.batch(count, 0)?;
    let pixels = batch.f32("images")?.to_vec();
    let image = Tensor::f32([count, 3, SIZE, SIZE], pixels.clone());
    let repeated = pixels.repeat(time_steps);
    let sequence = Tensor::f32([time_steps, count, 3, SIZE, SIZE], repeated);
    // The first call compiles the program.
    let sums = net.constant_forward(&image, time_steps, Reduce::Sum)?;
    let all = net.forward(&sequence, count)?.to_f64();
    let start = Instant::now();
    net.constant_forward(&image, time_steps, Reduce::Sum)?;
    let constant = start.elapsed();
    let start = Instant::now();
    net.forward(&sequence, count)?;
    let plain = start.elapsed();

    // [T, N, 10] summed over T.
    let outputs = count * 10;
    let sum = |k: usize| all.iter().skip(k).step_by(outputs).sum::<f64>();
    let expected: Vec<f64> = (0..outputs).map(sum).collect();
    let spikes: f64 = expected.iter().sum();
    let pairs = sums.to_f64().into_iter().zip(&expected);
    let differing: f64 = pairs.map(|(a, b)| (a - b).abs()).sum();
    println!("{spikes} spikes of {count} images in {time_steps} steps");
    println!("{differing} of them differ from those of the repeated image");
    println!("constant_forward {constant:.1?}, forward of the repeated image {plain:.1?}");
    // A GPU's library may sum convolutions of other batches in another order.
    let allowed = if gpus { 0.01 * spikes } else { 0.0 };
    if spikes == 0.0 || differing > allowed {
        let problem = format!("{differing} of {spikes} spikes differ, of which {allowed} may");
        let help = "without spikes train for more steps, or choose a smaller tau";
        return Err(Error::invalid("constant_forward", problem, help));
    }
    Ok(())
}
