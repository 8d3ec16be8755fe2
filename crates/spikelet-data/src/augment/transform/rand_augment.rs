//! RandAugment.
//!
//! Source: E. Cubuk, B. Zoph, J. Shlens, Q. Le, *RandAugment: practical automated data augmentation with a reduced
//! search space*, arXiv:1909.13719 (2019); strengths as in torchvision's `RandAugment`.

use super::policy::{KINDS, Space};
use super::{GRAY, ImageTransform, slashes};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// RandAugment: `ops` of 14 operations in sequence, all of the same magnitude.
///
/// ```
/// use spikelet_data::{Image, ImageTransform, RandAugment, SampleRandom};
///
/// let mut image = Image::new((0..3 * 32 * 32).map(|k| k as u8).collect(), [3, 32, 32])?;
/// let augmentation = RandAugment { ops: 2, magnitude: 14, ..RandAugment::default() };
/// augmentation.augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// assert_eq!(image.shape(), [3, 32, 32]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
#[schema(earlier = |table| slashes(table, &["ops", "magnitude"]))]
pub struct RandAugment {
    /// The number of operations.
    #[schema(main, default = 2, at_least = 1, at_most = 16)]
    pub ops: usize,
    /// The level of all operations, 0 to 30.
    #[schema(default = 9, at_least = 0, at_most = 30)]
    pub magnitude: usize,
    /// The byte of pixels from outside the image.
    #[schema(default = GRAY)]
    pub fill: u8,
}

impl ImageTransform for RandAugment {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        for _ in 0..self.ops {
            let kind = KINDS[random.below(KINDS.len())];
            let negative = random.chance(0.5);
            let op = SPACE.op(kind, self.magnitude, negative, image.shape());
            op.apply(image, self.fill);
        }
        Ok(())
    }
}

pub(super) const SPACE: Space = Space::rand_augment(31);
