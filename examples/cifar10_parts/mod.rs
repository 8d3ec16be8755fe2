//! What `cifar10mp` and `cifar10cmp` share: the tutorial's network in five parts, its devices, and images.

use spikelet::data::Batch;
use spikelet::pipeline::ModelPipeline;
use spikelet::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// GPUs by number, such as those of `0,1,2,0,3`; CPU devices where one of them is missing. Says
/// which.
pub fn homes(list: &str) -> Result<(Vec<Arc<dyn Backend>>, bool)> {
    let open = |kind: &str| -> Result<Vec<Arc<dyn Backend>>> {
        let mut known = BTreeMap::new();
        for number in list.split(',') {
            // One name, one device: the stages of one share its memory.
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

/// Six convolutions and a linear layer, cut where the tutorial cuts them. The neurons are those of
/// `cifar10-net`; the tutorial's `Lif::new(100.0)` need its 50 steps to fire at all.
pub fn parts(homes: &[Arc<dyn Backend>], channels: usize, size: usize) -> ModelPipeline {
    let c = channels;
    let conv = |inputs| Conv2d::new(inputs, c, 3).padding(1).bias(false);
    let lif = || {
        let lif = Lif {
            decay_input: false,
            ..Lif::new(2.0)
        };
        lif.surrogate(Atan::default())
    };
    let bn = || BatchNorm2d::new(c);
    let mut rest = Sequential::new();
    for _ in 0..2 {
        rest = rest.add(conv(c)).add(bn()).add(lif());
        rest = rest.add(conv(c)).add(Pool2d::max(2)).add(bn()).add(lif());
    }
    let features = c * (size / 8) * (size / 8);
    let rest = rest
        .add(Flatten)
        .add(Linear::new(features, 10).bias(false))
        .add(lif());
    let second = Sequential::new().add(conv(c)).add(Pool2d::max(2)).add(bn());
    ModelPipeline::new()
        .append(Sequential::new().add(conv(3)).add(bn()), &homes[0])
        .append(lif(), &homes[1])
        .append(second, &homes[2])
        .append(lif(), &homes[3])
        .append(rest, &homes[4])
}

/// Images whose class is the brightest of ten stripes.
pub fn images(count: usize, size: usize, seed: u64) -> Batch {
    let label = |k: usize| (k * 3 + seed as usize) % 10;
    let pixel = |at: usize| {
        let (image, column) = (at / (3 * size * size), at % size);
        let noise = (at as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let bright = 10 * column / size == label(image);
        0.5 * noise as f32 / (1_u32 << 24) as f32 + if bright { 0.5 } else { 0.0 }
    };
    Batch {
        images: (0..count * 3 * size * size).map(pixel).collect(),
        labels: (0..count).map(|k| label(k) as i64).collect(),
        indices: (0..count as u32).collect(),
        index_in_epoch: 0,
    }
}
