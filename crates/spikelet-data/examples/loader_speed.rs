//! Images a second of the loader, for images of CIFAR-10's size with random crop and flip.
//!
//! ```text
//! cargo run --release -p spikelet-data --example loader_speed [THREADS…]
//! ```
//!
//! The images are generated. For each number of threads (1, 4 and 16 by default) the fastest of five epochs of 50,000
//! images in batches of 128 counts: as they are, with crop and flip, and with crop and flip as a transform of one's own,
//! which is given borrowed bytes and writes them to a vector.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use spikelet_data::{
    Augment, DataLoader, InMemory, LoaderConfig, Normalize, Result, Sample, SampleRandom,
    SampleTensor, Transform,
};

const IMAGES: usize = 50_000;
const SHAPE: [usize; 3] = [3, 32, 32];
const PADDING: usize = 4;

/// A random crop with padding and a flip, written against the public interface.
#[derive(Debug)]
struct CropAndFlip;

impl Transform for CropAndFlip {
    fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> Result<()> {
        let [channels, height, width] = SHAPE;
        let image = sample.require_mut("images")?;
        let Some(pixels) = image.as_u8() else {
            return Ok(());
        };
        let mut corner = || random.below(2 * PADDING + 1) as isize - PADDING as isize;
        let (top, left) = (corner(), corner());
        let flipped = random.chance(0.5);
        let mut out = vec![0; pixels.len()];
        for row in 0..channels * height {
            let (plane, y) = (row / height, row % height);
            let Some(from) = y.checked_add_signed(top).filter(|&from| from < height) else {
                continue;
            };
            let from = &pixels[(plane * height + from) * width..][..width];
            let to = &mut out[row * width..][..width];
            let (skip, lead) = (left.max(0) as usize, (-left).max(0) as usize);
            let len = width - skip - lead;
            to[lead..][..len].copy_from_slice(&from[skip..][..len]);
            if flipped {
                to.reverse();
            }
        }
        *image = SampleTensor::u8(&SHAPE, out);
        Ok(())
    }
}

fn images_per_second(loader: &DataLoader) -> Result<f64> {
    let mut best = f64::INFINITY;
    for epoch in 0..5 {
        let started = Instant::now();
        let mut batches = loader.epoch(epoch, 0);
        while let Some(batch) = batches.next().transpose()? {
            black_box(&batch);
            batches.recycle(batch);
        }
        best = best.min(started.elapsed().as_secs_f64());
    }
    Ok(loader.samples() as f64 / best)
}

fn main() -> Result<()> {
    let threads: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let threads = if threads.is_empty() {
        vec![1, 4, 16]
    } else {
        threads
    };
    let pixels = IMAGES * SHAPE.iter().product::<usize>();
    let images = (0..pixels)
        .map(|k| (k.wrapping_mul(0x9e37_79b9) >> 13) as u8)
        .collect();
    let labels = (0..IMAGES).map(|k| (k % 10) as u32).collect();
    let classes = (0..10).map(|class| class.to_string()).collect();
    let data = Arc::new(InMemory::images(
        "generated",
        images,
        labels,
        SHAPE,
        classes,
    )?);

    println!(
        "{:>8} {:>12} {:>12} {:>12}  images/s",
        "threads", "plain", "crop, flip", "transform"
    );
    for threads in threads {
        let config = |augment| LoaderConfig {
            augment,
            normalize: Some(Normalize {
                mean: vec![0.4914, 0.4822, 0.4465],
                std: vec![0.2470, 0.2435, 0.2616],
            }),
            threads,
            ..LoaderConfig::default()
        };
        let augment = Augment {
            crop_padding: PADDING,
            flip: true,
            ..Augment::default()
        };
        let plain = DataLoader::new(data.clone(), config(Augment::default()))?;
        let augmented = DataLoader::new(data.clone(), config(augment))?;
        let transformed = plain.clone().transform(CropAndFlip)?;
        let mut speeds = [0.0; 3];
        for (speed, loader) in speeds.iter_mut().zip([&plain, &augmented, &transformed]) {
            *speed = images_per_second(loader)?;
        }
        let [plain, augmented, transformed] = speeds;
        println!("{threads:>8} {plain:>12.0} {augmented:>12.0} {transformed:>12.0}");
    }
    Ok(())
}
