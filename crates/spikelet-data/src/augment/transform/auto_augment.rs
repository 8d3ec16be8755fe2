//! AutoAugment with the policy of CIFAR-10.
//!
//! Source: E. Cubuk, B. Zoph, D. Mané, V. Vasudevan, Q. Le, *AutoAugment: learning augmentation policies from data*,
//! arXiv:1805.09501 (2018), table 7; strengths as in torchvision's `AutoAugment`.

use super::policy::{Kind, Space};
use super::{GRAY, ImageTransform};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// AutoAugment with the policy that was found on CIFAR-10: one of 25 pairs of operations.
///
/// Pixels from outside the image have the value `fill`, by default 128. Usual after crop and flip, before cutout.
///
/// ```
/// use spikelet_data::{AutoAugment, Image, ImageTransform, SampleRandom};
///
/// let mut image = Image::new((0..3 * 32 * 32).map(|k| k as u8).collect(), [3, 32, 32])?;
/// AutoAugment::default().augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// assert_eq!(image.shape(), [3, 32, 32]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
pub struct AutoAugment {
    /// The byte of pixels from outside the image.
    #[schema(default = GRAY)]
    pub fill: u8,
}

impl ImageTransform for AutoAugment {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        for (kind, probability, level) in POLICIES[random.below(POLICIES.len())] {
            let (applied, negative) = (random.chance(probability), random.chance(0.5));
            if applied {
                let op = SPACE.op(kind, level, negative, image.shape());
                op.apply(image, self.fill);
            }
        }
        Ok(())
    }
}

pub(super) const SPACE: Space = Space::rand_augment(10);

/// Two operations, each with its probability and level.
type Pair = [(Kind, f32, usize); 2];

#[rustfmt::skip]
const POLICIES: [Pair; 25] = {
    use Kind::*;
    [
        [(Invert, 0.1, 7), (Contrast, 0.2, 6)],
        [(Rotate, 0.7, 2), (TranslateX, 0.3, 9)],
        [(Sharpness, 0.8, 1), (Sharpness, 0.9, 3)],
        [(ShearY, 0.5, 8), (TranslateY, 0.7, 9)],
        [(AutoContrast, 0.5, 8), (Equalize, 0.9, 2)],
        [(ShearY, 0.2, 7), (Posterize, 0.3, 7)],
        [(Color, 0.4, 3), (Brightness, 0.6, 7)],
        [(Sharpness, 0.3, 9), (Brightness, 0.7, 9)],
        [(Equalize, 0.6, 5), (Equalize, 0.5, 1)],
        [(Contrast, 0.6, 7), (Sharpness, 0.6, 5)],
        [(Color, 0.7, 7), (TranslateX, 0.5, 8)],
        [(Equalize, 0.3, 7), (AutoContrast, 0.4, 8)],
        [(TranslateY, 0.4, 3), (Sharpness, 0.2, 6)],
        [(Brightness, 0.9, 6), (Color, 0.2, 8)],
        [(Solarize, 0.5, 2), (Invert, 0.0, 3)],
        [(Equalize, 0.2, 0), (AutoContrast, 0.6, 0)],
        [(Equalize, 0.2, 8), (Equalize, 0.6, 4)],
        [(Color, 0.9, 9), (Equalize, 0.6, 6)],
        [(AutoContrast, 0.8, 4), (Solarize, 0.2, 8)],
        [(Brightness, 0.1, 3), (Color, 0.7, 0)],
        [(Solarize, 0.4, 5), (AutoContrast, 0.9, 3)],
        [(TranslateY, 0.9, 9), (TranslateY, 0.7, 9)],
        [(AutoContrast, 0.9, 2), (Solarize, 0.8, 3)],
        [(Equalize, 0.8, 8), (Invert, 0.1, 3)],
        [(TranslateY, 0.7, 9), (AutoContrast, 0.9, 1)],
    ]
};

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_policy_is_that_of_torchvision() {
        let text = include_str!("../../../tests/references/augmentations.json");
        let references: Value = serde_json::from_str(text).unwrap();
        let expected = references["auto_augment"]["policies"].as_array().unwrap();
        assert_eq!(expected.len(), POLICIES.len());
        for (pair, expected) in POLICIES.iter().zip(expected) {
            for (at, (kind, probability, level)) in pair.iter().enumerate() {
                let expected = &expected[at];
                assert_eq!(expected[0], json!(format!("{kind:?}")));
                assert_eq!(expected[1].as_f64().unwrap() as f32, *probability);
                // Operations without a strength have no level.
                if !expected[2].is_null() {
                    assert_eq!(expected[2], json!(level));
                }
            }
        }
    }
}
