//! The noise of event cameras: background activity and hot pixels.

use super::spikes::{Spikes, below};
use crate::{EventRandom, Sensor};

/// The rate of hot pixels, in events per second.
const HOT_RATE: [f64; 2] = [30.0, 120.0];

/// Noise of a camera.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    /// Events of a pixel in a second.
    pub rate: f64,
    /// The most hot pixels.
    pub hot_pixels: u32,
}

impl Noise {
    /// Adds events within `duration` microseconds.
    pub fn add(self, spikes: &mut Spikes, sensor: Sensor, duration: u32, random: &mut EventRandom) {
        let seconds = f64::from(duration) * 1e-6;
        let pixels = sensor.width * sensor.height;
        for _ in 0..(self.rate * seconds * f64::from(pixels)) as u32 {
            let (t, pixel) = (below(random, duration), below(random, 2 * pixels));
            let (x, y) = (pixel / 2 % sensor.width, pixel / 2 / sensor.width);
            spikes.push(t, x as u16, y as u16, pixel % 2 == 1);
        }
        for _ in 0..below(random, self.hot_pixels + 1) {
            let pixel = below(random, pixels);
            let (x, y) = (pixel % sensor.width, pixel / sensor.width);
            let on = random.chance(0.75);
            for _ in 0..(random.between(HOT_RATE[0], HOT_RATE[1]) * seconds) as u32 {
                spikes.push(below(random, duration), x as u16, y as u16, on);
            }
        }
    }
}
