//! Random horizontal flips.

use super::ImageTransform;
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// Mirrors the image horizontally with a probability, by default ½.
///
/// ```
/// use spikelet_data::{Image, ImageTransform, RandomFlip, SampleRandom};
///
/// let mut image = Image::new(vec![1, 2, 3, 4], [1, 2, 2])?;
/// RandomFlip { probability: 1.0 }.augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))?;
/// assert_eq!(image.pixels(), [2, 1, 4, 3]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct RandomFlip {
    /// The probability with which an image is mirrored.
    #[schema(main, default = 0.5, from = 0, to = 1)]
    pub probability: f32,
}

impl ImageTransform for RandomFlip {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        if random.chance(self.probability) {
            mirror(image);
        }
        Ok(())
    }
}

/// Mirrors the image horizontally.
pub(super) fn mirror(image: &mut Image) {
    let [_, _, width] = image.shape();
    for row in image.pixels_mut().chunks_exact_mut(width) {
        row.reverse();
    }
}
