//! Shared by `cifar10mp` and `cifar10cmp`: the tutorial's network in five stages, its devices, and images.

use spikelet::data::{Batch, Dataset, cifar10};
use spikelet::pipeline::ModelPipeline;
use spikelet::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The GPUs with the given numbers, such as `0,1,2,0,3`; CPU devices if one of them is missing.
/// Prints which are used.
pub fn stage_devices(list: &str) -> Result<(Vec<Arc<dyn Backend>>, bool)> {
    let open = |kind: &str| -> Result<Vec<Arc<dyn Backend>>> {
        let mut known = BTreeMap::new();
        for number in list.split(',') {
            // Stages of the same name share one device and its memory.
            let device = spikelet::device::find(&format!("{kind}:{}", number.trim()), 1)?;
            known.entry(number).or_insert(device);
        }
        Ok(list
            .split(',')
            .map(|number| known[number].clone())
            .collect())
    };
    match open("cuda") {
        Ok(gpus) => Ok((gpus, true)),
        Err(_) => Ok((open("cpu")?, false)),
    }
}

/// Six convolutions with biases and a linear layer, in the stages of the tutorial, with its neurons: the sigmoid with
/// α = 1 and the soft reset gradient. `tau` is 100 in the tutorial; a neuron then takes so many steps to the threshold
/// that no image fires the last layer before hundreds of training steps.
pub fn parts(stage_devices: &[Arc<dyn Backend>], channels: usize, tau: f64) -> ModelPipeline {
    let c = channels;
    let conv = |inputs| Conv2d::new(inputs, c, 3).padding(1).bias(true);
    let lif = || Lif {
        common: Common::soft_pulse(),
        ..Lif::new(tau)
    };
    let bn = || BatchNorm2d::new(c);
    let mut rest = Sequential::new();
    for _ in 0..2 {
        rest = rest.add(conv(c)).add(bn()).add(lif());
        rest = rest.add(conv(c)).add(Pool2d::max(2)).add(bn()).add(lif());
    }
    let features = c * (SIZE / 8) * (SIZE / 8);
    let rest = rest
        .add(Flatten)
        .add(Linear::new(features, 10).bias(false))
        .add(lif());
    let second = Sequential::new().add(conv(c)).add(Pool2d::max(2)).add(bn());
    ModelPipeline::new()
        .append(Sequential::new().add(conv(3)).add(bn()), &stage_devices[0])
        .append(lif(), &stage_devices[1])
        .append(second, &stage_devices[2])
        .append(lif(), &stage_devices[3])
        .append(rest, &stage_devices[4])
}

/// τ of an argument; 2 without one.
pub fn tau(argument: Option<String>) -> Result<f64> {
    let Some(text) = argument else { return Ok(2.0) };
    text.parse().map_err(|_| {
        let problem = format!("`{text}` is not a number");
        Error::invalid("tau", problem, "give a number above 1, such as 100")
    })
}

/// Height and width of an image.
pub const SIZE: usize = 32;

/// CIFAR-10's training images in order; generated stripes if its files do not exist.
pub struct Images(pub Option<Arc<dyn Dataset>>);

impl Images {
    /// Searches `$SPIKELET_DATA`, or `data`, and prints the data set that is used.
    pub fn find() -> Self {
        let folder = std::env::var("SPIKELET_DATA").unwrap_or_else(|_| "data".to_string());
        match cifar10::load(&folder) {
            Ok(data) => {
                println!("images of CIFAR-10 in {folder}");
                Self(Some(data.train))
            }
            Err(_) => {
                println!(
                    "stripes as images: no CIFAR-10 in {folder}, which `spikelet train cifar10-net --download` fetches"
                );
                Self(None)
            }
        }
    }

    /// The images of training step `step`.
    pub fn batch(&self, count: usize, step: u64) -> Result<Batch> {
        let first = step as usize * count;
        let image = |k: usize| match &self.0 {
            Some(data) => {
                let sample = data.sample(k % data.len())?;
                let pixels = sample.require("images")?.as_u8().unwrap_or_default().iter();
                let labels = sample.require("labels")?.as_i64().unwrap_or_default();
                Ok((pixels.map(|p| f32::from(*p) / 255.0).collect(), labels[0]))
            }
            None => Ok(stripes(k)),
        };
        let images = (first..first + count).map(image);
        let (images, labels): (Vec<Vec<f32>>, Vec<i64>) = images.collect::<Result<_>>()?;
        Ok(Batch::of_images([3, SIZE, SIZE], images.concat(), labels))
    }
}

/// An image whose class is the index of the brightest of ten stripes.
fn stripes(number: usize) -> (Vec<f32>, i64) {
    let label = number * 3 % 10;
    let pixel = |at: usize| {
        let hash = (at + number * 3 * SIZE * SIZE) as u64;
        let noise = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let bright = 10 * (at % SIZE) / SIZE == label;
        0.5 * noise as f32 / (1_u32 << 24) as f32 + if bright { 0.5 } else { 0.0 }
    };
    ((0..3 * SIZE * SIZE).map(pixel).collect(), label as i64)
}
