//! Measures packs: their size against files of events, and how fast they are written and read.
//!
//! `cargo run --release -p spikelet-events --example pack_speed [FOLDER [SET]]`
//!
//! FOLDER has a folder of recordings for each class, or the files of the data set SET. Without it, recordings of moving
//! edges are computed: 128 × 128 pixels, with times as they are, and cut to 50 µs as a camera that reads rows has them.
//! Seconds are those of the clock, best of three; reading is on one thread, with the file in the page cache.

use std::error::Error;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::time::Instant;

use spikelet_events::pack::{Pack, pack_data_set};
use spikelet_events::{
    EventBuffer, EventDataset, EventSet, Format, Options, Sensor, recording_folder, write,
};

const SIDE: usize = 128;

/// The edges of two discs that move for a second and a half; times are multiples of `unit` microseconds.
fn moving_edges(seed: u64, unit: i64) -> EventBuffer {
    let mut state = seed;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let discs: Vec<[f64; 5]> = (0..2).map(|_| [(); 5].map(|()| random())).collect();
    let mut seen = vec![0.0; SIDE * SIDE];
    let mut events = EventBuffer::default();
    for millisecond in 0..1500 {
        let mut now = vec![];
        for (pixel, seen) in seen.iter_mut().enumerate() {
            let (x, y) = ((pixel % SIDE) as f64, (pixel / SIDE) as f64);
            let brightness: f64 = discs
                .iter()
                .map(|[u, v, radius, speed, phase]| {
                    let angle = (0.002 + 0.01 * speed) * f64::from(millisecond) + 6.3 * phase;
                    let (dx, dy) = (
                        x - 128.0 * u - 30.0 * angle.sin(),
                        y - 128.0 * v - 30.0 * angle.cos(),
                    );
                    let edge = dx.hypot(dy) - 8.0 - 10.0 * radius;
                    1.0 / (1.0 + (1.5 * edge).exp())
                })
                .sum();
            if millisecond == 0 {
                *seen = brightness;
            }
            while (brightness - *seen).abs() > 0.1 {
                let on = brightness > *seen;
                *seen += if on { 0.1 } else { -0.1 };
                let t = i64::from(millisecond) * 1000 + (random() * 1000.0) as i64;
                now.push((t / unit * unit, x as u16, y as u16, on));
            }
        }
        now.sort_by_key(|event| event.0);
        for (t, x, y, on) in now {
            events.push(t, x, y, on);
        }
    }
    events
}

/// The least seconds of three runs.
fn seconds(mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        run()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// The bytes of all samples as files of a format.
fn bytes_as(data: &EventDataset, format: Format, sensor: Sensor) -> Result<u64, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sample");
    let mut bytes = 0;
    for index in 0..data.samples().len() {
        write(&path, format, sensor, &data.read(index)?)?;
        bytes += fs::metadata(&path)?.len();
    }
    Ok(bytes)
}

fn measure(name: &str, data: &EventDataset) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("pack");
    let mut files: Vec<_> = data
        .samples()
        .iter()
        .map(|sample| data.folder().join(&sample.file))
        .collect();
    files.dedup();
    let mut raw = 0;
    for file in &files {
        raw += fs::metadata(file)?.len();
    }
    let mut packed = Default::default();
    let one = seconds(|| {
        Ok(pack_data_set(
            data,
            &path,
            NonZero::<usize>::MIN,
            |progress| packed = progress,
        )?)
    })?;
    let threads = std::thread::available_parallelism()?;
    let all = seconds(|| Ok(pack_data_set(data, &path, threads, |_| {})?))?;
    let pack = Pack::open(&path)?;
    let mut events = EventBuffer::default();
    let read = seconds(|| {
        // Not in their order.
        for index in 0..pack.len() {
            events.clear();
            pack.read(index * 7919 % pack.len(), &mut events)?;
        }
        Ok(())
    })?;
    let npz = bytes_as(
        data,
        Format::NpzEvents,
        data.sensor().unwrap_or(Sensor::new(1 << 16, 1 << 16)),
    )?;
    let (count, bytes) = (packed.events as f64, fs::metadata(&path)?.len() as f64);
    println!(
        "{name}: {} samples, {:.1} M events",
        pack.len(),
        count / 1e6
    );
    println!(
        "  bytes of an event: {:.2} files, {:.2} npz, {:.2} pack",
        raw as f64 / count,
        npz as f64 / count,
        bytes / count
    );
    println!(
        "  M events/s: {:.1} packed by one thread, {:.1} by {threads}, {:.1} read by one; {:.0} µs to read a sample",
        count / one / 1e6,
        count / all / 1e6,
        count / read / 1e6,
        read / pack.len() as f64 * 1e6,
    );
    Ok(())
}

fn synthetic(name: &str, unit: i64) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("edges"))?;
    for seed in 0..20 {
        let path = folder.path().join(format!("edges/{seed:02}.aedat"));
        write(
            &path,
            Format::Aedat2Dvs128,
            Sensor::new(128, 128),
            &moving_edges(seed, unit),
        )?;
    }
    let options = Options {
        format: Some(Format::Aedat2Dvs128),
        ..Options::default()
    };
    measure(name, &recording_folder(folder.path(), &options)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            synthetic("moving edges, AEDAT 2", 1)?;
            synthetic("moving edges in units of 50 µs, AEDAT 2", 50)
        }
        [folder] => measure(
            folder,
            &recording_folder(Path::new(folder), &Options::default())?,
        ),
        [folder, set, ..] => {
            let set = EventSet::find(set)?;
            measure(set.title, &set.open(folder)?)
        }
    }
}
