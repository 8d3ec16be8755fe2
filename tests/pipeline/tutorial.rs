//! The network of the examples `cifar10mp` and `cifar10cmp` on stripes, with few channels.

#[allow(dead_code)]
#[path = "../../examples/cifar10_parts/mod.rs"]
mod cifar10_parts;

use cifar10_parts::{Images, SIZE};
use spikelet::pipeline::{PipelineStep, Reduce};
use spikelet::prelude::*;
use spikelet::recipes;

const BATCH: usize = 16;
const STEPS: usize = 4;

#[test]
fn the_network_of_the_tutorial_learns_and_spikes_alike_from_a_constant_image() -> Result<()> {
    let four: Result<Vec<_>> = (0..4)
        .map(|k| spikelet::device::find(&format!("cpu:{k}"), 1))
        .collect();
    let four = four?;
    let devices = [0, 1, 2, 0, 3].map(|k: usize| four[k].clone());
    let images = Images(None);
    let mut net = cifar10_parts::parts(&devices, 4, 2.0);
    let recipe = recipes::find("cifar10-net-spikingflow").expect("it is known");
    let preset = recipe.experiment()?.settings;
    let settings = Settings {
        batch_size: BATCH,
        encoder: Direct.into(),
        time_steps: STEPS,
        optimizer: preset.optimizer.with_lr(1e-2).into(),
        ..preset
    };
    let partition = net.partition(BATCH, Some(2))?;
    let mut step = PipelineStep::new(&partition, &settings, [3, SIZE, SIZE], net.store_mut()?)?;
    let mut losses = vec![];
    for k in 1..=30 {
        losses.push(step.run(&images.batch(BATCH, k)?, k, 1.0)?.loss);
    }
    let last = losses[25..].iter().sum::<f64>() / 5.0;
    assert!(last < losses[0] - 0.1, "{losses:?}");

    let pixels = images.batch(BATCH, 0)?.f32("images")?.to_vec();
    let image = Tensor::f32([BATCH, 3, SIZE, SIZE], pixels.clone());
    let sequence = Tensor::f32([STEPS, BATCH, 3, SIZE, SIZE], pixels.repeat(STEPS));
    let constant = net.constant_forward(&image, STEPS, Reduce::Sum)?.to_f64();
    let all = net.forward(&sequence, BATCH)?.to_f64();
    let sum = |k| all.iter().skip(k).step_by(BATCH * 10).sum::<f64>();
    let repeated: Vec<f64> = (0..BATCH * 10).map(sum).collect();
    assert!(repeated.iter().sum::<f64>() > 0.0, "no spikes");
    assert_eq!(constant, repeated);
    Ok(())
}
