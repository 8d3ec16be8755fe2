//! TrivialAugment with the wide space.
//!
//! Source: S. Müller, F. Hutter, *TrivialAugment: tuning-free yet state-of-the-art data augmentation*,
//! arXiv:2103.10158 (2021); strengths as in torchvision's `TrivialAugmentWide`.

use super::policy::{KINDS, MaxTranslation, Space};
use super::{GRAY, ImageTransform};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// TrivialAugment (wide): one of 14 operations, with a random strength. It has no parameter to choose.
///
/// Pixels from outside the image have the value `fill`, by default 128.
///
/// ```
/// use spikelet_data::{Image, ImageTransform, SampleRandom, TrivialAugment};
///
/// let mut image = Image::new((0..3 * 32 * 32).map(|k| k as u8).collect(), [3, 32, 32])?;
/// TrivialAugment::default().augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// assert_eq!(image.shape(), [3, 32, 32]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
pub struct TrivialAugment {
    /// The byte of pixels from outside the image.
    #[schema(default = GRAY)]
    pub fill: u8,
}

impl ImageTransform for TrivialAugment {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        let kind = KINDS[random.below(KINDS.len())];
        let level = random.below(SPACE.levels);
        let op = SPACE.op(kind, level, random.chance(0.5), image.shape());
        op.apply(image, self.fill);
        Ok(())
    }
}

pub(super) const SPACE: Space = Space {
    levels: 31,
    shear: 0.99,
    translation: MaxTranslation::Pixels(32.0),
    degrees: 135.0,
    enhancement: 0.99,
    bits: 6,
};
