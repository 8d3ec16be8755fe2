//! RandAugment.
//!
//! Source: E. Cubuk, B. Zoph, J. Shlens, Q. Le, *RandAugment: practical automated data augmentation with a reduced
//! search space*, arXiv:1909.13719 (2019); strengths as in torchvision's `RandAugment`.

use serde::{Deserialize, Serialize};

use super::policy::{KINDS, Space};
use super::registry::{Named, integer};
use super::{GRAY, ImageAugmentation, check_range};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// RandAugment: `ops` of 14 operations in sequence, all of the same magnitude.
///
/// | field | default | |
/// |---|---|---|
/// | `ops` | 2 | number of operations, 1 to 16 |
/// | `magnitude` | 9 | 0 to 30 |
/// | `fill` | 128 | byte of pixels from outside the image |
///
/// ```
/// use spikelet_data::{Image, ImageAugmentation, RandAugment, SampleRandom};
///
/// let mut image = Image::new((0..3 * 32 * 32).map(|k| k as u8).collect(), [3, 32, 32])?;
/// let augmentation = RandAugment { ops: 2, magnitude: 14, ..RandAugment::default() };
/// augmentation.augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// assert_eq!(image.shape(), [3, 32, 32]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandAugment {
    /// The number of operations.
    pub ops: usize,
    /// The level of all operations, 0 to 30.
    pub magnitude: usize,
    /// The byte of pixels from outside the image.
    pub fill: u8,
}

impl Default for RandAugment {
    fn default() -> Self {
        Self {
            ops: 2,
            magnitude: 9,
            fill: GRAY,
        }
    }
}

impl Named for RandAugment {
    const NAME: &'static str = "rand-augment";
    const USAGE: &'static str = "rand-augment=OPS/MAGNITUDE";

    fn from_values(values: &[f32]) -> Option<Self> {
        let &[ops, magnitude] = values else {
            return None;
        };
        Some(Self {
            ops: integer(ops)?,
            magnitude: integer(magnitude)?,
            ..Self::default()
        })
    }
}

impl ImageAugmentation for RandAugment {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        for _ in 0..self.ops {
            let kind = KINDS[random.below(KINDS.len())];
            let negative = random.chance(0.5);
            let op = SPACE.op(kind, self.magnitude, negative, image.shape());
            op.apply(image, self.fill);
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let good = (1..=16).contains(&self.ops);
        check_range(Self::NAME, "ops", self.ops as f64, good, "1 to 16")?;
        let good = self.magnitude < SPACE.levels;
        let magnitude = self.magnitude as f64;
        check_range(Self::NAME, "magnitude", magnitude, good, "0 to 30")
    }
}

pub(super) const SPACE: Space = Space::rand_augment(31);
