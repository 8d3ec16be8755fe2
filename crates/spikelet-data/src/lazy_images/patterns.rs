//! Patterns of waves: the contents of generated images.
//!
//! A class is a sum of a few plane waves, each with its frequency, direction and colors, and a color of the background. An
//! image shows a cut of it: shifted, zoomed, brighter or darker, with noise.
//!
//! sin 2π(u + v) = sin 2πu · cos 2πv + cos 2πu · sin 2πv: the waves of an image are computed from the sines of its rows and
//! columns.

use spikelet_expr::math::{cos_2pi, sin_2pi};
use spikelet_random::Generator;

/// The waves of a class.
const WAVES: usize = 3;

/// A plane wave.
#[derive(Clone, Debug)]
struct Wave {
    /// Periods an image, along the height and the width.
    frequency: [f32; 2],
    /// The amplitude of each channel, in gray levels.
    colors: Vec<f32>,
}

/// The pattern of a class.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    waves: Vec<Wave>,
    background: Vec<f32>,
}

fn between(random: &mut Generator, low: f32, high: f32) -> f32 {
    low + (high - low) * random.unit()
}

impl Pattern {
    /// A random pattern.
    pub(super) fn new(channels: usize, random: &mut Generator) -> Self {
        let mut colors = |spread: f32| -> (Vec<f32>, [f32; 2]) {
            let colors = (0..channels).map(|_| between(random, -spread, spread));
            let colors = colors.collect();
            let turn = between(random, 0.0, 0.5);
            let periods = between(random, 1.5, 6.0);
            (colors, [sin_2pi(turn) * periods, cos_2pi(turn) * periods])
        };
        let background = colors(30.0).0.iter().map(|level| 128.0 + level).collect();
        let waves = (0..WAVES).map(|_| colors(45.0));
        Self {
            waves: waves
                .map(|(colors, frequency)| Wave { frequency, colors })
                .collect(),
            background,
        }
    }

    /// An image of this pattern, `[channels, height, width]`.
    pub(super) fn draw(&self, [_, height, width]: [usize; 3], random: &mut Generator) -> Vec<u8> {
        let shift = [random.unit(), random.unit()];
        let zoom = between(random, 0.9, 1.1);
        let contrast = between(random, 0.7, 1.3);
        let light = between(random, -15.0, 15.0);
        let sines = |frequency: f32, shift: f32, len: usize| -> Vec<[f32; 2]> {
            let turns = |k: usize| frequency * (zoom * k as f32 / len as f32 + shift);
            (0..len)
                .map(|k| [sin_2pi(turns(k)), cos_2pi(turns(k))])
                .collect()
        };
        let waves = self.waves.iter().map(|wave| {
            let [y, x] = wave.frequency;
            (sines(y, shift[0], height), sines(x, shift[1], width))
        });
        let waves: Vec<_> = waves.collect();
        let mut levels: Vec<f32> = Vec::with_capacity(self.background.len() * height * width);
        for (channel, background) in self.background.iter().enumerate() {
            for row in 0..height {
                let from = levels.len();
                levels.resize(from + width, background + light);
                for (wave, (rows, columns)) in self.waves.iter().zip(&waves) {
                    let amplitude = contrast * wave.colors[channel];
                    let [sine, cosine] = rows[row].map(|value| value * amplitude);
                    for (level, [s, c]) in levels[from..].iter_mut().zip(columns) {
                        *level += sine * c + cosine * s;
                    }
                }
            }
        }
        noisy(&levels, random)
    }
}

/// The levels as bytes, with noise: four pixels from each random word.
fn noisy(levels: &[f32], random: &mut Generator) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(levels.len());
    for four in levels.chunks(4) {
        let noise = random.next_u32().to_le_bytes();
        let noisy = four.iter().zip(noise).map(|(level, noise)| {
            let level = level + (f32::from(noise) - 127.5) * 0.2;
            level.clamp(0.0, 255.0) as u8
        });
        pixels.extend(noisy);
    }
    pixels
}
