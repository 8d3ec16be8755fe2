//! Gestures before an event camera.

use super::angle::cos_sin;
use super::camera::watch;
use super::generate::{MAX_SAMPLES, Recording, SyntheticSet};
use super::hand::Hand;
use super::noise::Noise;
use super::path::{Key, Path, Pose};
use super::spikes::Spikes;
use crate::{EventBuffer, EventRandom, Sensor};
use spikelet_schema::Schema;

/// Recordings of moving hands of 1 to 2 seconds, in five pairs of classes: the second of a pair is the first with time
/// reversed. A network for DVS128 Gesture, which has 11 outputs, takes these ten classes.
///
/// | classes | |
/// |---|---|
/// | `circle-clockwise`, `circle-counterclockwise` | two or three turns, from any angle |
/// | `raise`, `lower` | fast up and slowly down, two or three times; fast down |
/// | `approach`, `recede` | slowly nearer and fast away, two or three times; slowly away |
/// | `zigzag-down`, `zigzag-up` | down from side to side, straight up; straight down, up from side to side |
/// | `left-right`, `right-left` | two waves of the left hand, then two of the right hand; right hand first |
///
/// Every movement ends where it starts, so each pixel has as many ON as OFF events, noise aside. A reversal exchanges
/// them. Both classes of a pair therefore have the same distribution of events summed over time, polarity by polarity: a
/// classifier that does not see time has an accuracy of at most 50 %.
///
/// ```
/// use spikelet_events::synthetic::{Gestures, SyntheticSet};
///
/// let set = Gestures { size: 34, ..Gestures::default() };
/// let events = set.events(1, 0)?;
/// assert!(events.t.is_sorted() && (1000..10_000).contains(&events.len()));
/// # Ok::<(), spikelet_events::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "synthetic-gestures")]
pub struct Gestures {
    /// Width and height of the sensor.
    #[schema(main, default = 128, at_least = 16, at_most = 512)]
    pub size: u32,
    /// Background events of a pixel in a second, at most 10.
    #[schema(default = 0.1, from = 0, to = 10)]
    pub noise: f64,
    /// The most hot pixels, at most 100.
    #[schema(default = 3, at_least = 0, at_most = 100)]
    pub hot_pixels: u32,
    /// The number of samples for training.
    #[schema(default = 1200, at_least = 0, at_most = MAX_SAMPLES)]
    pub train: u32,
    /// The number of samples for tests.
    #[schema(default = 300, at_least = 0, at_most = MAX_SAMPLES)]
    pub test: u32,
}

impl Gestures {
    fn camera_noise(&self) -> Noise {
        Noise {
            rate: self.noise,
            hot_pixels: self.hot_pixels,
        }
    }
}

/// The largest latency of a pixel in microseconds.
const LATENCY: u16 = 500;

impl SyntheticSet for Gestures {
    fn title(&self) -> &'static str {
        "Synthetic gestures"
    }

    fn classes(&self) -> &'static [&'static str] {
        &[
            "circle-clockwise",
            "circle-counterclockwise",
            "raise",
            "lower",
            "approach",
            "recede",
            "zigzag-down",
            "zigzag-up",
            "left-right",
            "right-left",
        ]
    }

    fn sensor(&self) -> Sensor {
        Sensor::new(self.size, self.size)
    }

    fn samples(&self) -> [u32; 2] {
        [self.train, self.test]
    }

    fn generate(&self, recording: Recording) -> EventBuffer {
        let mut random = recording.random;
        let duration = random.between(1e6, 2e6);
        let mut spikes = movement(self.sensor(), recording.label, duration, &mut random);
        let duration = duration as u32;
        spikes.delay(LATENCY, &mut random);
        self.camera_noise()
            .add(&mut spikes, self.sensor(), duration, &mut random);
        spikes.sorted()
    }
}

/// The events of a gesture without latency and noise.
fn movement(sensor: Sensor, label: u32, duration: f64, random: &mut EventRandom) -> Spikes {
    let contrast = random.between(1.5, 4.0) as f32;
    // A hand of few pixels is one pixel larger than its part of the sensor, to be seen.
    let size = random.between(0.045, 0.07) + 1.0 / f64::from(sensor.width);
    let mut spikes = Spikes::default();
    for keys in gesture(label / 2, size, duration, random) {
        watch(&Hand { contrast }, &keys, sensor, &mut spikes);
    }
    if label % 2 == 1 {
        // What became brighter becomes darker.
        spikes.reverse(duration as u32);
        spikes.invert();
    }
    spikes
}

/// The hands of the first gesture of a pair.
fn gesture(pair: u32, size: f64, duration: f64, random: &mut EventRandom) -> Vec<Vec<Key>> {
    let center = [random.between(0.4, 0.6), random.between(0.4, 0.6)];
    let at = |x: f64, y: f64| Pose {
        x: center[0] + x,
        y: center[1] + y,
        size,
    };
    let cycles = |random: &mut EventRandom, least, most| least + random.below(most) as u32;
    match pair {
        0 => {
            let radius = random.between(0.16, 0.28);
            let pose = |turns: f64| {
                let (cos, sin) = cos_sin(turns);
                at(radius * cos, radius * sin)
            };
            // `y` points down: the angle increases clockwise.
            let turn = (1..=32).fold(Path::from(pose(0.0)), |path, k| {
                path.to(1.0, pose(f64::from(k) / 32.0))
            });
            vec![turn.repeat(cycles(random, 2, 2), random.unit(), duration)]
        }
        1 => {
            let reach = random.between(0.18, 0.3);
            let fast = random.between(0.1, 0.2);
            let raise = Path::from(at(0.0, reach))
                .rest(0.05)
                .glide(fast, at(0.0, -reach))
                .rest(0.1)
                .glide(0.85 - fast, at(0.0, reach));
            vec![raise.repeat(cycles(random, 2, 2), 0.0, duration)]
        }
        2 => {
            let scale = |factor: f64| Pose {
                size: size * factor,
                ..at(0.0, 0.0)
            };
            let largest = random.between(2.8, 3.8);
            let fast = random.between(0.1, 0.2);
            let approach = Path::from(scale(1.0))
                .to(1.0 - fast, scale(largest))
                .to(fast, scale(1.0));
            vec![approach.repeat(cycles(random, 2, 2), random.unit(), duration)]
        }
        3 => {
            let reach = [random.between(0.12, 0.22), random.between(0.2, 0.3)];
            let strokes = cycles(random, 4, 3);
            let mut zigzag = Path::from(at(0.0, -reach[1]));
            for stroke in 0..strokes {
                let x = if stroke % 2 == 0 { reach[0] } else { -reach[0] };
                let y = 2.0 * (f64::from(stroke) + 0.5) / f64::from(strokes) - 1.0;
                zigzag = zigzag.to(1.0, at(x, y * reach[1]));
            }
            let bottom = zigzag.to(0.5, at(0.0, reach[1]));
            vec![
                bottom
                    .glide(1.5, at(0.0, -reach[1]))
                    .repeat(1, 0.0, duration),
            ]
        }
        _ => {
            let (apart, reach) = (random.between(0.12, 0.22), random.between(0.1, 0.2));
            let wave = |path: Path, x: f64| {
                path.glide(1.0, at(x, -reach))
                    .glide(1.0, at(x, reach))
                    .glide(1.0, at(x, -reach))
                    .glide(1.0, at(x, reach))
            };
            let pause = random.between(0.2, 1.0);
            let left = wave(Path::from(at(-apart, reach)).rest(0.3), -apart).rest(4.3 + pause);
            let right = wave(Path::from(at(apart, reach)).rest(4.3 + pause), apart).rest(0.3);
            [left, right]
                .map(|hand| hand.repeat(1, 0.0, duration))
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sensor() -> Sensor {
        Sensor::new(48, 48)
    }

    fn recording(label: u32) -> EventBuffer {
        let mut random = EventRandom::of_synthetic(7, 0, label / 2);
        movement(sensor(), label, 1_500_000.0, &mut random).sorted()
    }

    #[test]
    fn the_second_gesture_of_a_pair_is_the_first_with_time_reversed() {
        for pair in 0..5 {
            let [first, second] = [recording(2 * pair), recording(2 * pair + 1)];
            let list = |events: &EventBuffer, reversed: bool| {
                let event = |k| {
                    let (t, p) = (events.t[k], events.p[k]);
                    let (t, p) = if reversed {
                        (1_500_000 - t, 1 - p)
                    } else {
                        (t, p)
                    };
                    (t, events.x[k], events.y[k], p)
                };
                let mut list: Vec<_> = (0..events.len()).map(event).collect();
                list.sort_unstable();
                list
            };
            assert!(list(&first, false) == list(&second, true), "pair {pair}");
            assert!(first.t != second.t, "pair {pair}");
        }
    }

    #[test]
    fn every_pixel_has_as_many_on_as_off_events() {
        for label in 0..10 {
            let events = recording(label);
            let mut balance = vec![0; 48 * 48];
            for k in 0..events.len() {
                balance[usize::from(events.y[k]) * 48 + usize::from(events.x[k])] +=
                    i32::from(events.p[k]) * 2 - 1;
            }
            assert!(balance.iter().all(|&sum| sum == 0), "label {label}");
            assert!(events.len() > 1000, "label {label}");
        }
    }
}
