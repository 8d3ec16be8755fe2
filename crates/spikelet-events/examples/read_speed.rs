//! Measures how fast files of events are read, for every format that can be written and for AEDAT 3.1.
//!
//! `cargo run --release -p spikelet-events --example read_speed [EVENTS]`
//!
//! 10 million events by default, of uniform pixels and sorted random times. Prints the best of three of each file, in events
//! per second of one core: seconds of the processor where the system tells them, else of the clock. The first figure is of
//! the whole file in memory, the second of blocks in the same memory.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
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
    let mut seconds = [f64::INFINITY; 2];
    for _ in 0..3 {
        let (recording, whole) = timed(|| read(path, &options));
        let (count, blocks) = timed(|| {
            let mut reader = open(path, &options)?;
            let (mut block, mut count) = (EventBuffer::default(), 0);
            while reader.read_block(&mut block)? {
                count += block.len();
                block.clear();
            }
            Ok::<usize, spikelet_events::Error>(count)
        });
        assert!(
            recording?.events == *events && count? == events.len(),
            "{name}"
        );
        seconds = [seconds[0].min(whole), seconds[1].min(blocks)];
    }
    let (millions, bytes) = (
        events.len() as f64 / 1e6,
        fs::metadata(path)?.len() as f64 / 1e6,
    );
    let [whole, blocks] = seconds.map(|seconds| millions / seconds);
    println!("{name:24} {bytes:7.1} MB {whole:7.1} M events/s, in blocks {blocks:7.1} M events/s");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(10_000_000), |count| count.parse())?;
    let events = synthetic(count);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("events");
    for &format in Format::ALL.iter().filter(|format| format.is_writable()) {
        for compress in [false, true] {
            let options = WriteOptions {
                compress,
                ..WriteOptions::new(format, Sensor::new(128, 128))
            };
            let old = fs::read(&path).unwrap_or_default();
            let mut writer = EventWriter::create(&path, &options)?;
            writer.write(&events)?;
            writer.finish()?;
            if fs::read(&path)? != old {
                let compressed = if compress { ", compressed" } else { "" };
                measure(&format!("{format}{compressed}"), &path, format, &events)?;
            }
        }
    }
    write_aedat3(&path, &events)?;
    measure("aedat3.1", &path, Format::Aedat3, &events)
}
