//! Images per second of the data loader, by number of threads.
//!
//! ```sh
//! cargo run --release -p spikelet-data --features images --example image_speed -- [FOLDER] [IMAGES]
//! tools/baselines/dataloader.py FOLDER
//! ```
//!
//! The first measurement decodes JPEG files of 500 × 375, takes a random resized crop of 224 × 224, flips and normalizes
//! it. The files are generated if FOLDER has none; without FOLDER they are temporary. The second one augments
//! bytes of 32 × 32 in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use spikelet_data::{
    Augment, AutoAugment, DataLoader, Dataset, ImageFolder, InMemory, LoaderConfig, Normalize,
    RandomFlip, RandomResizedCrop, Result,
};
use spikelet_random::{Generator, Stream};

const WIDTH: usize = 500;
const HEIGHT: usize = 375;
const CLASSES: usize = 4;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let temporary = tempfile::tempdir()?;
    let folder = arguments
        .next()
        .map_or(temporary.path().into(), PathBuf::from);
    let images = arguments.next().map_or(Ok(2048), |count| count.parse())?;
    if !folder.join("class-0").is_dir() {
        generate(&folder, images)?;
    }
    let cores = thread::available_parallelism()?.get();
    println!("{cores} cores");

    let files = Arc::new(ImageFolder::open(&folder)?);
    println!(
        "\n{} JPEG files of {WIDTH}x{HEIGHT}, random resized crop to 224x224, flip, normalize",
        files.len()
    );
    println!("| threads | images/s | a thread |\n|---|---|---|");
    for threads in [1, 2, 4, 16] {
        let loader = DataLoader::new(files.clone(), config(64, threads, Augment::default()))?
            .transform(RandomResizedCrop::new([224, 224]))?
            .transform(RandomFlip::default())?;
        report(&loader, threads, 1)?;
    }

    let small = cifar_like(10_000)?;
    let crop_and_flip = Augment {
        crop_padding: 4,
        flip: true,
        ..Augment::default()
    };
    let auto_augment = Augment {
        transforms: vec![AutoAugment::default().into()],
        cutout: 16,
        ..crop_and_flip.clone()
    };
    for (name, augment) in [
        ("crop, flip", crop_and_flip),
        ("crop, flip, AutoAugment, cutout", auto_augment),
    ] {
        println!(
            "\n{} images of 32x32 in memory, {name}, normalize",
            small.len()
        );
        println!("| threads | images/s | a thread |\n|---|---|---|");
        for threads in [1, 2, 4, 16] {
            let loader = DataLoader::new(small.clone(), config(128, threads, augment.clone()))?;
            report(&loader, threads, 5)?;
        }
    }
    Ok(())
}

fn config(batch_size: usize, threads: usize, augment: Augment) -> LoaderConfig {
    LoaderConfig {
        batch_size,
        threads,
        augment,
        normalize: Some(Normalize {
            mean: vec![0.485, 0.456, 0.406],
            std: vec![0.229, 0.224, 0.225],
        }),
        ..LoaderConfig::default()
    }
}

/// Prints the speed of `epochs` epochs, after a quarter of one that is not counted.
fn report(loader: &DataLoader, threads: usize, epochs: u64) -> Result<()> {
    let run = |epoch: u64, batches: usize| -> Result<usize> {
        let mut images = 0;
        let mut epoch = loader.epoch(epoch, 0);
        for _ in 0..batches {
            let Some(batch) = epoch.next() else { break };
            let batch = batch?;
            images += batch.len();
            epoch.recycle(batch);
        }
        Ok(images)
    };
    run(0, loader.len().div_ceil(4))?;
    let start = Instant::now();
    let images = (1..=epochs)
        .map(|epoch| run(epoch, usize::MAX))
        .sum::<Result<usize>>()?;
    let speed = images as f64 / start.elapsed().as_secs_f64();
    println!("| {threads} | {speed:.0} | {:.0} |", speed / threads as f64);
    Ok(())
}

/// Writes JPEG files of waves of several lengths with noise, of about 80 KB, the size of a photo.
fn generate(folder: &Path, images: usize) -> std::result::Result<(), Box<dyn std::error::Error>> {
    for class in 0..CLASSES {
        fs::create_dir_all(folder.join(format!("class-{class}")))?;
    }
    for index in 0..images {
        let path = folder.join(format!("class-{}/{index:05}.jpg", index % CLASSES));
        let mut encoder = Encoder::new_file(path, 93)?;
        encoder.set_sampling_factor(SamplingFactor::F_2_2);
        encoder.encode(
            &picture(index as u64),
            WIDTH as u16,
            HEIGHT as u16,
            ColorType::Rgb,
        )?;
    }
    Ok(())
}

fn picture(index: u64) -> Vec<u8> {
    let stream = Stream {
        seed: index,
        id: 0,
        step: 0,
    };
    let mut random = Generator::new(stream);
    let mut noise = vec![0.0; 3 * WIDTH * HEIGHT];
    stream.fill_normal(1, 0, &mut noise);
    // Frequencies up to 1/4 of a pixel, weaker the higher they are, and one phase a color.
    let waves: Vec<[f32; 6]> = (0..12)
        .map(|k| {
            let frequency = 0.01 * 1.3_f32.powi(k);
            let angle = std::f32::consts::TAU * random.unit();
            let [x, y] = [frequency * angle.cos(), frequency * angle.sin()];
            [
                x,
                y,
                40.0 / (1.0 + k as f32),
                random.unit(),
                random.unit(),
                random.unit(),
            ]
        })
        .collect();
    // Each wave is the sum of products of a table of its columns and one of its rows.
    let table = |len: usize, step: f32, phase: f32| -> Vec<(f32, f32)> {
        let angle = |at: usize| std::f32::consts::TAU * (step * at as f32 + phase);
        (0..len).map(|at| angle(at).sin_cos()).collect()
    };
    let mut pixels = vec![128.0_f32; 3 * WIDTH * HEIGHT];
    for [x, y, strength, phases @ ..] in waves {
        let rows = table(HEIGHT, y, 0.0);
        for (color, phase) in phases.into_iter().enumerate() {
            let columns = table(WIDTH, x, phase);
            for (row, (row_sin, row_cos)) in rows.iter().enumerate() {
                let out = pixels[3 * row * WIDTH..][..3 * WIDTH]
                    .iter_mut()
                    .skip(color)
                    .step_by(3);
                for (out, (sin, cos)) in out.zip(&columns) {
                    *out += strength * (sin * row_cos + cos * row_sin);
                }
            }
        }
    }
    let bytes = pixels
        .iter()
        .zip(&noise)
        .map(|(pixel, noise)| (pixel + 8.0 * noise) as u8);
    bytes.collect()
}

/// Images of three channels and 32 × 32 pixels.
fn cifar_like(len: usize) -> Result<Arc<dyn Dataset>> {
    let source = picture(7);
    let pixels = (0..len * 3072).map(|k| source[(k * 7 + k / 3072 * 311) % source.len()]);
    let labels = (0..len).map(|k| (k % 2) as u32).collect();
    let classes = vec!["a".into(), "b".into()];
    let dataset = InMemory::images("random", pixels.collect(), labels, [3, 32, 32], classes)?;
    Ok(Arc::new(dataset))
}
