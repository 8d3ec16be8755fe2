//! Random horizontal flips.

use serde::{Deserialize, Serialize};

use super::{ImageAugmentation, check_range};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// Mirrors the image horizontally with a probability, by default ½.
///
/// ```
/// use spikelet_data::{Image, ImageAugmentation, RandomFlip, SampleRandom};
///
/// let mut image = Image::new(vec![1, 2, 3, 4], [1, 2, 2])?;
/// RandomFlip { probability: 1.0 }.augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))?;
/// assert_eq!(image.pixels(), [2, 1, 4, 3]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomFlip {
    /// The probability with which an image is mirrored.
    pub probability: f32,
}

impl Default for RandomFlip {
    fn default() -> Self {
        Self { probability: 0.5 }
    }
}

impl ImageAugmentation for RandomFlip {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        if random.chance(self.probability) {
            mirror(image);
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let good = (0.0..=1.0).contains(&self.probability);
        let probability = self.probability.into();
        check_range("random-flip", "probability", probability, good, "0 to 1")
    }
}

/// Mirrors the image horizontally.
pub(super) fn mirror(image: &mut Image) {
    let [_, _, width] = image.shape();
    for row in image.pixels_mut().chunks_exact_mut(width) {
        row.reverse();
    }
}
