//! Measures how fast files of events are read, for every format that can be written and for AEDAT 3.1.
//!
//! `cargo run --release -p spikelet-events --example read_speed [EVENTS [FOLDER]]`
//!
//! 10 million events by default, of uniform pixels and sorted random times. Prints the best of three, in millions of events per
//! second of one core: seconds of the processor where the system tells them, else of the clock.
//!
//! | column | |
//! |---|---|
//! | fresh | the whole file, with [`read`] |
//! | reused | the whole file, into columns that were used before |
//! | blocks | block by block, into one block |
//!
//! The files are kept in FOLDER, if one is given.
//!
//! The first line is the time that the system takes for fresh memory alone: 13 bytes are written for each event.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use spikelet_events::{
    EventBuffer, EventWriter, Format, Options, Sensor, WriteOptions, open, read,
};

/// Random numbers (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Events of 128 × 128 pixels within 8 seconds, sorted by time.
fn synthetic(count: usize) -> EventBuffer {
    let mut state = 1;
    let mut times: Vec<i64> = (0..count)
        .map(|_| (random(&mut state) % 8_000_000) as i64)
        .collect();
    times.sort_unstable();
    let mut events = EventBuffer::default();
    events.reserve(count);
    for t in times {
        let bits = random(&mut state);
        events.push(
            t,
            (bits & 127) as u16,
            (bits >> 7 & 127) as u16,
            bits >> 14 & 1 == 1,
        );
    }
    events
}

/// AEDAT 3.1 in packets of 4,096 events, which this crate does not write.
fn write_aedat3(path: &Path, events: &EventBuffer) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    file.write_all(b"#!AER-DAT3.1\r\n#Format: RAW\r\n#Source 1: DVS128\r\n#!END-HEADER\r\n")?;
    for start in (0..events.len()).step_by(4096) {
        let end = events.len().min(start + 4096);
        let count = (end - start) as i32;
        file.write_all(&[1, 0, 1, 0])?;
        for word in [8, 4, 0, count, count, count] {
            file.write_all(&word.to_le_bytes())?;
        }
        for k in start..end {
            let (x, y, p) = (
                u32::from(events.x[k]),
                u32::from(events.y[k]),
                u32::from(events.p[k]),
            );
            file.write_all(&(x << 17 | y << 2 | p << 1 | 1).to_le_bytes())?;
            file.write_all(&(events.t[k] as u32).to_le_bytes())?;
        }
    }
    file.flush()
}

/// The seconds that this thread has had a processor.
fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

/// The seconds that a function takes.
fn timed<T>(function: impl FnOnce() -> T) -> (T, f64) {
    let (clock, processor) = (Instant::now(), processor_seconds());
    let value = function();
    let seconds = processor_seconds()
        .zip(processor)
        .map(|(end, start)| end - start);
    (value, seconds.unwrap_or(clock.elapsed().as_secs_f64()))
}

/// Millions of events in a second: the best of three times three calls, each of which gives the number of its events.
fn rate(
    mut function: impl FnMut() -> spikelet_events::Result<usize>,
) -> spikelet_events::Result<f64> {
    let mut best = 0.0_f64;
    for _ in 0..3 {
        let mut calls = || -> spikelet_events::Result<usize> {
            (0..3).try_fold(0, |events, _| Ok(events + function()?))
        };
        let (events, seconds) = timed(&mut calls);
        best = best.max(events? as f64 / 1e6 / seconds);
    }
    Ok(best)
}

fn measure(
    name: &str,
    path: &Path,
    format: Format,
    events: &EventBuffer,
) -> Result<(), Box<dyn Error>> {
    let options = Options {
        format: Some(format),
        ..Options::default()
    };
    let mut same = read(path, &options)?.events;
    assert!(same == *events, "{name}");
    let fresh = rate(|| Ok(read(path, &options)?.events.len()))?;
    let reused = rate(|| {
        same.clear();
        open(path, &options)?.read_to_end(&mut same)
    })?;
    let mut block = EventBuffer::default();
    let blocks = rate(|| {
        let (mut reader, mut count) = (open(path, &options)?, 0);
        while reader.read_block(&mut block)? {
            count += block.len();
            block.clear();
        }
        Ok(count)
    })?;
    let bytes = fs::metadata(path)?.len() as f64 / 1e6;
    println!("{name:24} {bytes:7.1} MB {fresh:7.1} {reused:7.1} {blocks:7.1}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(10_000_000), |count| count.parse())?;
    let events = synthetic(count);
    let kept = std::env::args().nth(2).map(PathBuf::from);
    let temporary = tempfile::tempdir()?;
    let folder = kept.as_deref().unwrap_or(temporary.path());
    println!(
        "{:24} {:>10} {:>7} {:>7} {:>7}",
        "", "", "fresh", "reused", "blocks"
    );
    let memory = rate(|| Ok(std::hint::black_box(vec![1_u8; 13 * count]).len() / 13))?;
    println!("{:24} {:>10} {memory:7.1}", "memory", "");
    for &format in Format::ALL.iter().filter(|format| format.is_writable()) {
        let mut plain = 0;
        for compress in [false, true] {
            let options = WriteOptions {
                compress,
                ..WriteOptions::new(format, Sensor::new(128, 128))
            };
            let name = match compress {
                true => format!("{format}, compressed"),
                false => format.to_string(),
            };
            let path = folder.join(name.replace(", ", "-"));
            let mut writer = EventWriter::create(&path, &options)?;
            writer.write(&events)?;
            writer.finish()?;
            let size = fs::metadata(&path)?.len();
            if compress && size == plain {
                // The format is not compressed.
                fs::remove_file(&path)?;
                continue;
            }
            plain = size;
            measure(&name, &path, format, &events)?;
            if kept.is_none() {
                fs::remove_file(&path)?;
            }
        }
    }
    let path = folder.join("aedat3.1");
    write_aedat3(&path, &events)?;
    measure("aedat3.1", &path, Format::Aedat3, &events)
}
