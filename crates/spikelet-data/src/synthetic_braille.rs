//! Generated Braille letters of the shape of [`braille`]: 980 training, 280 validation and 140 test
//! sequences of 256 steps and 12 channels, without files.
//!
//! A fingertip with 4 × 3 touch sensors slides over the dots of a letter. A sensor's response is the sum of Gaussians of
//! its distances to the dots; it sends an event each time the response has changed by a threshold. Pressure, speed,
//! start, height and noise differ from sample to sample. All letters cross the sensors in the same places: what differs
//! is which dots arrive when.

use crate::braille::{self, CHANNELS, CLASSES, Part, STEPS, split};
use crate::error::Result;
use crate::named::Origin;
use crate::sample_random::SampleRandom;
use crate::sequence_files::SequenceFiles;
use crate::split::Split;

pub(crate) const ENTRY: SequenceFiles = SequenceFiles {
    name: "synthetic-braille",
    summary: "Generated Braille letters, as events of 12 touch sensors",
    title: NAME,
    origin: Origin::Generated,
    sample_files: None,
    read: |_| generate(),
    ..braille::ENTRY
};

const NAME: &str = "Synthetic Braille";

/// Samples for training, validation and test.
const SAMPLES: [usize; 3] = [980, 280, 140];

/// The seed of the generator.
const SEED: u64 = 0x6272_6c6c;

/// The dots of a letter, by number: 1 to 3 in the left column from above, 4 to 6 in the right one.
const DOTS: [&[usize]; CLASSES.len()] = [
    &[],
    &[1],
    &[1, 5],
    &[2, 4],
    &[1, 3, 5],
    &[1, 3, 6],
    &[1, 3, 4, 5, 6],
];

/// The distance of dots and of rows of sensors, in mm.
const PITCH: f32 = 2.5;

/// The distance of columns of sensors, in mm.
const COLUMN: f32 = 1.5;

/// The width of a dot under the skin, in mm.
const WIDTH: f32 = 0.9;

/// The change of the response that is an event.
const THRESHOLD: f32 = 0.08;

/// The generated sequences, always the same.
///
/// # Errors
/// None.
///
/// ```
/// use spikelet_data::{Dataset, synthetic_braille};
///
/// let split = synthetic_braille::generate()?;
/// assert_eq!((split.train.len(), split.test.len()), (980, 140));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
pub fn generate() -> Result<Split> {
    let mut first = 0;
    let parts = SAMPLES.map(|samples| {
        let mut part = Part {
            steps: STEPS,
            x: Vec::with_capacity(samples * STEPS * CHANNELS),
            labels: vec![],
        };
        for index in first..first + samples {
            let class = index % CLASSES.len();
            let mut random = SampleRandom::of_sample(SEED, 0, index as u32);
            touch(DOTS[class], &mut random, &mut part.x);
            part.labels.push(class as i64);
        }
        first += samples;
        part
    });
    split(NAME, parts)
}

/// Appends the events of one touch of these dots.
fn touch(dots: &[usize], random: &mut SampleRandom, x: &mut Vec<f32>) {
    let pressure = random.between(0.5, 1.5);
    let (start, height) = (random.between(-4.0, -2.5), random.between(-1.1, 1.1));
    // The letter is 2.5 mm wide, the sensors 4.5 mm: 11 mm bring all dots past all sensors.
    let speed = random.between(11.0, 18.0) / STEPS as f32;
    let mut reference = [0.0; CHANNELS];
    for step in 0..STEPS {
        let finger = start + speed * step as f32;
        for (channel, reference) in reference.iter_mut().enumerate() {
            let (column, row) = ((channel % 4) as f32, (channel / 4) as f32);
            let (at, above) = (finger - COLUMN * column, PITCH * row + height);
            let response: f32 = dots
                .iter()
                .map(|dot| {
                    let (right, down) = ((dot - 1) / 3, (dot - 1) % 3);
                    let (along, across) = (at - PITCH * right as f32, above - PITCH * down as f32);
                    pressure * (-(along * along + across * across) / (2.0 * WIDTH * WIDTH)).exp()
                })
                .sum();
            let changes = ((response + 0.03 * random.normal() - *reference) / THRESHOLD).trunc();
            *reference += changes * THRESHOLD;
            x.push(changes.abs());
        }
    }
}
