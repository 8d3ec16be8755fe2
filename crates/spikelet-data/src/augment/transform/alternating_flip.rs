//! Flips that alternate from epoch to epoch.
//!
//! Source: K. Jordan, *94% on CIFAR-10 in 3.29 seconds on a single GPU*, arXiv:2404.00498 (2024).

use super::ImageTransform;
use super::random_flip::mirror;
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// Mirrors every image horizontally in every second epoch; a random half of them in epoch 0.
///
/// In any two successive epochs a network sees both versions of an image, which random flips do for one in two only.
///
/// ```
/// use spikelet_data::{AlternatingFlip, Image, ImageTransform, SampleRandom};
///
/// let augmented = |epoch| {
///     let mut image = Image::new(vec![1, 2, 3, 4], [1, 2, 2])?;
///     AlternatingFlip::default().augment(&mut image, &mut SampleRandom::of_sample(0, epoch, 17))?;
///     Ok::<_, spikelet_data::Error>(image.into_pixels())
/// };
/// assert_ne!(augmented(0)?, augmented(1)?);
/// assert_eq!(augmented(0)?, augmented(2)?);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
pub struct AlternatingFlip {}

impl ImageTransform for AlternatingFlip {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        let first = random.in_epoch(0).chance(0.5);
        if first != (random.epoch() % 2 == 1) {
            mirror(image);
        }
        Ok(())
    }
}
