//! Measures how fast frames are made of events in memory, on one core.
//!
//! `cargo run --release -p spikelet-events --example frame_speed [EVENTS]`
//!
//! 10 million events by default, of 128 × 128 uniform pixels within 8 seconds, sorted by time. Prints the best of five, in
//! events per second, with the allocation of the frames.

use std::error::Error;
use std::time::Instant;

use spikelet_events::frames::FrameRule;
use spikelet_events::{EventBuffer, Sensor};
use spikelet_schema::Member;

/// Random numbers (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn synthetic(count: usize) -> EventBuffer {
    let mut state = 1;
    let mut events = EventBuffer::default();
    let mut times = vec![0; count];
    times.fill_with(|| (random(&mut state) % 8_000_000) as i64);
    times.sort_unstable();
    for t in times {
        let bits = random(&mut state);
        events.push(
            t,
            bits as u16 % 128,
            (bits >> 16) as u16 % 128,
            bits >> 63 == 1,
        );
    }
    events
}

fn measure(name: &str, rule: &dyn FrameRule, events: &EventBuffer) -> Result<(), Box<dyn Error>> {
    let mut seconds = f64::INFINITY;
    let mut shape = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        shape = rule.tensor(events, Sensor::new(128, 128))?.shape;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    let speed = events.len() as f64 / 1e6 / seconds;
    println!("{name:30} {:4} frames {speed:7.1} M events/s", shape[0]);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(10_000_000), |count| count.parse())?;
    let events = synthetic(count);
    let rules = [
        "number=4",
        "time=4",
        "number=16",
        "time=16",
        "duration=500000",
        "time-bins=16",
        "time-windows=50000",
        "voxel-grid=10",
    ];
    for text in rules {
        let rule: Member<dyn FrameRule> = text.parse()?;
        measure(text, &*rule, &events)?;
    }
    Ok(())
}
