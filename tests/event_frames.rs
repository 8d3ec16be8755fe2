//! Frames that a device makes of events are those of the host.

use spikelet::events::frames::{FrameRule, Resize};
use spikelet::events::{EventBuffer, EventRandom, Sensor};
use spikelet::graph::op::{EventFrames, EventSlicing};
use spikelet::graph::{Backend, DType};
use spikelet::prelude::*;
use spikelet::runtime::VarStore;
use spikelet::schema::Member;
use spikelet::train::{Outputs, Step};
use std::sync::Arc;

const SENSOR: Sensor = Sensor::new(40, 34);
const FRAMES: usize = 6;

/// Recordings of different lengths, of which some have silences, one has a single time, and one is empty.
fn recordings() -> Vec<EventBuffer> {
    let counts = [0, 1, 5, 6, 7, 500, 1000, 999];
    let recordings = counts.into_iter().enumerate().map(|(index, count)| {
        let mut random = EventRandom::new(7, 0, index as u32);
        let (mut events, mut t) = (EventBuffer::default(), 123_456);
        for _ in 0..count {
            // The last one has all events at one time.
            if index < 7 {
                t += random.below(100) as i64;
                t += i64::from(random.chance(0.01)) * 9_000;
            }
            let (x, y) = (
                random.below(SENSOR.width.into()),
                random.below(SENSOR.height.into()),
            );
            events.push(t, x as u16, y as u16, random.chance(0.4));
        }
        events
    });
    recordings.collect()
}

fn are_those_of_the_host(device: Arc<dyn Backend>) -> Result<()> {
    let recordings = recordings();
    let (samples, most) = (recordings.len(), 1024);
    let mut events = vec![-1; samples * most];
    let mut lengths = vec![];
    for (recording, to) in recordings.iter().zip(events.chunks_mut(most)) {
        lengths.push(recording.len() as i64);
        let first = recording.t.first().copied().unwrap_or(0);
        for (at, to) in to.iter_mut().enumerate().take(recording.len()) {
            let t = (recording.t[at] - first) as u32;
            *to = EventFrames::pack(t, recording.x[at], recording.y[at], recording.p[at] != 0);
        }
    }
    for (slicing, rule) in [
        (EventSlicing::Number, "number=6"),
        (EventSlicing::Time, "time=6"),
        (EventSlicing::Duration(7000), "duration=7000"),
        (EventSlicing::Duration(9_000_000), "duration=9000000"),
    ] {
        for size in [[34, 40], [17, 13]] {
            let op = EventFrames {
                slicing,
                frames: FRAMES,
                sensor: [34, 40],
                size,
            };
            let step = Step::new(move |_, inputs| {
                let frames = inputs["events"].event_frames(&inputs["events_length"], op);
                Ok(Outputs::loss(frames.mean_all()).output("frames", &frames))
            })
            .batch_size(samples)
            .input("events", DType::I64, [most])
            .input("events_length", DType::I64, []);
            let mut store = VarStore::new(device.clone());
            let mut step = step.compile_predict(&mut store)?;
            step.predict((("events", &events), ("events_length", &lengths)))?;
            let found = step.output("frames")?.to_f64();
            let rule: Member<dyn FrameRule> = rule.parse().map_err(Error::other)?;
            let resize = Resize {
                height: size[0],
                width: size[1],
                ..Resize::default()
            };
            let frame = 2 * size[0] * size[1];
            for (n, recording) in recordings.iter().enumerate() {
                let frames = rule.tensor(recording, SENSOR).map_err(Error::other)?;
                let expected = resize.apply(&frames).map_err(Error::other)?.values;
                for t in 0..FRAMES {
                    let found = &found[(t * samples + n) * frame..][..frame];
                    let found: Vec<f32> = found.iter().map(|&count| count as f32).collect();
                    let zeros = vec![0.0; frame];
                    let expected = expected.get(t * frame..(t + 1) * frame);
                    assert_eq!(
                        found,
                        expected.unwrap_or(&zeros),
                        "{rule}, sample {n}, frame {t}"
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn frames_of_the_cpu_are_those_of_the_host() -> Result<()> {
    are_those_of_the_host(spikelet::device::cpu()?)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn frames_of_a_gpu_are_those_of_the_host() -> Result<()> {
    are_those_of_the_host(spikelet::device::find("cuda", 0)?)
}
