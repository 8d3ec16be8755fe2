//! Digits before a moving event camera.

use super::angle::cos_sin;
use super::camera::watch;
use super::drawing::Drawing;
use super::generate::{MAX_SAMPLES, Recording, SyntheticSet};
use super::noise::Noise;
use super::path::{Path, Pose};
use super::spikes::Spikes;
use crate::{EventBuffer, EventRandom, Sensor};
use spikelet_schema::Schema;

/// Recordings of drawn digits before a camera that makes three saccades in 0.3 seconds, as those of N-MNIST.
///
/// Classes differ in place: events summed over time tell the digit.
///
/// ```
/// use spikelet_events::synthetic::{MovingDigits, SyntheticSet};
///
/// let set = MovingDigits::default();
/// assert_eq!(set.label(17), 7);
/// assert!((1500..8000).contains(&set.events(1, 17)?.len()));
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source of the movement: G. Orchard et al., Converting Static Image Datasets to Spiking Neuromorphic Datasets Using
/// Saccades, 2015.
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
#[schema(name = "synthetic-moving-digits")]
pub struct MovingDigits {
    /// Width and height of the sensor.
    #[schema(main, default = 34, at_least = 16, at_most = 256)]
    pub size: u32,
    /// Background events of a pixel in a second, at most 10.
    #[schema(default = 0.5, from = 0, to = 10)]
    pub noise: f64,
    /// The most hot pixels, at most 100.
    #[schema(default = 1, at_least = 0, at_most = 100)]
    pub hot_pixels: u32,
    /// The number of samples for training.
    #[schema(default = 10_000, at_least = 0, at_most = MAX_SAMPLES)]
    pub train: u32,
    /// The number of samples for tests.
    #[schema(default = 2000, at_least = 0, at_most = MAX_SAMPLES)]
    pub test: u32,
}

/// The strokes of each digit, in hundredths of the box around it; a 9 is a turned 6.
const DIGITS: [&[&[[i8; 2]]]; 9] = [
    &[&[
        [50, 8],
        [30, 16],
        [20, 38],
        [20, 62],
        [30, 84],
        [50, 92],
        [70, 84],
        [80, 62],
        [80, 38],
        [70, 16],
        [50, 8],
    ]],
    &[&[[35, 25], [52, 8], [52, 92]]],
    &[&[
        [22, 28],
        [32, 12],
        [56, 8],
        [76, 22],
        [72, 42],
        [22, 92],
        [82, 92],
    ]],
    &[&[
        [22, 14],
        [52, 8],
        [74, 24],
        [68, 42],
        [46, 48],
        [72, 58],
        [78, 74],
        [56, 92],
        [20, 86],
    ]],
    &[&[[56, 8], [16, 64], [86, 64]], &[[64, 40], [64, 92]]],
    &[&[
        [76, 8],
        [30, 8],
        [24, 46],
        [54, 40],
        [78, 60],
        [66, 86],
        [42, 93],
        [20, 86],
    ]],
    &[&[
        [66, 8],
        [38, 30],
        [22, 62],
        [34, 88],
        [60, 92],
        [78, 74],
        [68, 54],
        [44, 50],
        [24, 66],
    ]],
    &[&[[18, 8], [82, 8], [42, 92]]],
    &[&[
        [50, 48],
        [28, 34],
        [30, 14],
        [50, 8],
        [70, 14],
        [72, 34],
        [50, 48],
        [24, 66],
        [28, 86],
        [50, 92],
        [72, 86],
        [76, 66],
        [50, 48],
    ]],
];

/// The largest latency of a pixel in microseconds.
const LATENCY: u16 = 500;

impl MovingDigits {
    fn camera_noise(&self) -> Noise {
        Noise {
            rate: self.noise,
            hot_pixels: self.hot_pixels,
        }
    }

    /// The strokes of a digit in pixels from its middle: turned, slanted, stretched, each point moved a little.
    fn strokes(&self, digit: u32, random: &mut EventRandom) -> Vec<Vec<[f64; 2]>> {
        let sign = if digit == 9 { -1.0 } else { 1.0 };
        let digit = if digit == 9 { 6 } else { digit as usize };
        let height = random.between(0.48, 0.62) * f64::from(self.size) * sign;
        let width = height * random.between(0.7, 1.0);
        let (cos, sin) = cos_sin(random.between(-0.03, 0.03));
        let slant = random.between(-0.25, 0.25);
        let mut point = |[x, y]: [i8; 2]| {
            let mut middle =
                |value: i8| f64::from(value) / 100.0 - 0.5 + random.between(-0.03, 0.03);
            let (x, y) = (middle(x), middle(y));
            let (x, y) = (width * (x - slant * y), height * y);
            [cos * x - sin * y, sin * x + cos * y]
        };
        let strokes = DIGITS[digit].iter();
        strokes
            .map(|stroke| stroke.iter().map(|&place| point(place)).collect())
            .collect()
    }
}

impl SyntheticSet for MovingDigits {
    fn title(&self) -> &'static str {
        "Synthetic moving digits"
    }

    fn classes(&self) -> &'static [&'static str] {
        &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
    }

    fn sensor(&self) -> Sensor {
        Sensor::new(self.size, self.size)
    }

    fn samples(&self) -> [u32; 2] {
        [self.train, self.test]
    }

    fn generate(&self, recording: Recording) -> EventBuffer {
        let mut random = recording.random;
        let strokes = self.strokes(recording.label, &mut random);
        let radius = random.between(0.025, 0.045) * f64::from(self.size);
        let drawing = Drawing::new(&strokes, radius, random.between(2.2, 4.8));
        let duration = random.between(290e3, 315e3);
        let start = [random.between(0.4, 0.5), random.between(0.38, 0.48)];
        // The corners of a triangle, as the camera of N-MNIST sees them.
        let at = |x: f64, y: f64| Pose {
            x: start[0] + x,
            y: start[1] + y,
            size: 0.0,
        };
        let saccades = Path::from(at(0.0, 0.0))
            .to(1.0, at(0.1, 0.2))
            .to(1.0, at(0.2, 0.0))
            .to(1.0, at(0.0, 0.0))
            .repeat(1, 0.0, duration);
        let mut spikes = Spikes::default();
        watch(&drawing, &saccades, self.sensor(), &mut spikes);
        spikes.delay(LATENCY, &mut random);
        self.camera_noise()
            .add(&mut spikes, self.sensor(), duration as u32, &mut random);
        spikes.sorted()
    }
}
