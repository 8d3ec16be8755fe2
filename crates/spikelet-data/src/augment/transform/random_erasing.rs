//! Random erasing: a rectangle of random area and aspect ratio.
//!
//! Source: Z. Zhong, L. Zheng, G. Kang, S. Li, Y. Yang, *Random erasing data augmentation*, arXiv:1708.04896 (2017);
//! defaults as in torchvision's `RandomErasing`.

use serde::{Deserialize, Serialize};
use spikelet_expr::math::{exp, ln};

use super::registry::Named;
use super::{ImageAugmentation, check_range};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// Overwrites a random rectangle with a probability.
///
/// | field | default | |
/// |---|---|---|
/// | `probability` | 0.5 | |
/// | `area` | [0.02, 0.33] | smallest and largest area, as a fraction of the image |
/// | `aspect` | [0.3, 3.3] | smallest and largest ratio of height to width, log-uniform |
/// | `fill` | `Noise` | the bytes of the rectangle |
///
/// An area or ratio that does not fit into the image is drawn again, at most ten times.
///
/// ```
/// use spikelet_data::{EraseFill, Image, ImageAugmentation, RandomErasing, SampleRandom};
///
/// let erasing = RandomErasing { probability: 1.0, fill: EraseFill::Value(7), ..RandomErasing::default() };
/// let mut image = Image::new(vec![200; 3 * 32 * 32], [3, 32, 32])?;
/// erasing.augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// assert!(image.pixels().contains(&7) && image.pixels().contains(&200));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomErasing {
    /// The probability with which an image is changed.
    pub probability: f32,
    /// The smallest and the largest area, as a fraction of the image.
    pub area: [f32; 2],
    /// The smallest and the largest ratio of height to width.
    pub aspect: [f32; 2],
    /// The bytes of the rectangle.
    pub fill: EraseFill,
}

/// The bytes of an erased rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EraseFill {
    /// One byte for all channels and pixels.
    Value(u8),
    /// One random gray for each rectangle.
    RandomGray,
    /// A random byte in every channel and pixel.
    Noise,
}

impl Default for RandomErasing {
    fn default() -> Self {
        Self {
            probability: 0.5,
            area: [0.02, 0.33],
            aspect: [0.3, 3.3],
            fill: EraseFill::Noise,
        }
    }
}

impl Named for RandomErasing {
    const NAME: &'static str = "random-erasing";
    const USAGE: &'static str = "random-erasing=PROBABILITY";

    fn from_values(values: &[f32]) -> Option<Self> {
        let &[probability] = values else {
            return None;
        };
        Some(Self {
            probability,
            ..Self::default()
        })
    }
}

impl ImageAugmentation for RandomErasing {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        if !random.chance(self.probability) {
            return Ok(());
        }
        let [_, height, width] = image.shape();
        let Some([rows, columns]) = self.draw_size([height, width], random) else {
            return Ok(());
        };
        let top = random.below(height - rows + 1);
        let left = random.below(width - columns + 1);
        let gray = match self.fill {
            EraseFill::Value(value) => value,
            EraseFill::RandomGray | EraseFill::Noise => random.next_u32() as u8,
        };
        for plane in image.planes_mut() {
            for row in plane.chunks_exact_mut(width).skip(top).take(rows) {
                let erased = &mut row[left..left + columns];
                if self.fill == EraseFill::Noise {
                    for bytes in erased.chunks_mut(4) {
                        let noise = random.next_u32().to_le_bytes();
                        bytes.copy_from_slice(&noise[..bytes.len()]);
                    }
                } else {
                    erased.fill(gray);
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let good = (0.0..=1.0).contains(&self.probability);
        let probability = self.probability.into();
        check_range(Self::NAME, "probability", probability, good, "0 to 1")?;
        let [least, most] = self.area;
        let good = 0.0 < least && least <= most && most <= 1.0;
        let expected = "above 0, at most 1, and in increasing order";
        check_range(Self::NAME, "area", least.into(), good, expected)?;
        let [least, most] = self.aspect;
        let good = 0.0 < least && least <= most && most <= 1e6;
        let expected = "above 0, at most 10⁶, and in increasing order";
        check_range(Self::NAME, "aspect", least.into(), good, expected)
    }
}

impl RandomErasing {
    /// The height and width of a rectangle that is smaller than the image.
    fn draw_size(
        &self,
        [height, width]: [usize; 2],
        random: &mut SampleRandom,
    ) -> Option<[usize; 2]> {
        (0..10).find_map(|_| {
            let area = (height * width) as f32 * random.between(self.area[0], self.area[1]);
            let aspect = exp(random.between(ln(self.aspect[0]), ln(self.aspect[1])));
            let rows = (area * aspect).sqrt().round_ties_even() as usize;
            let columns = (area / aspect).sqrt().round_ties_even() as usize;
            (rows < height && columns < width).then_some([rows, columns])
        })
    }
}
