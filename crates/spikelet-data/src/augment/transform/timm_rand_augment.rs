//! The RandAugment of PyTorch Image Models (timm), whose severity grows with the magnitude.
//!
//! Source: `rand_augment_transform` with `inc1` of R. Wightman, *PyTorch image models*, 0.6.12. There, warped pixels are
//! interpolated and those from outside have the mean color of the data set; here they take the nearest neighbor and `fill`.

use super::{GRAY, ImageTransform, check_range, slashes};
use crate::augment::image::Image;
use crate::augment::op::ImageOp;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// An operation of [`TimmRandAugment`], with its strength at magnitude M; in timm's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[non_exhaustive]
pub enum TimmOp {
    /// Stretches the range of each channel.
    #[default]
    AutoContrast,
    /// Equalizes the histograms.
    Equalize,
    /// Inverts the pixels.
    Invert,
    /// ±30° · M / 10.
    Rotate,
    /// Keeps 4 − ⌊4 · M / 10⌋ bits.
    Posterize,
    /// Inverts pixels from 256 − ⌊256 · M / 10⌋ on.
    Solarize,
    /// Adds ⌊110 · M / 10⌋ to pixels below 128.
    SolarizeAdd,
    /// Saturation 1 ± 0.9 · M / 10, at least 0.1.
    Color,
    /// The same for contrast.
    Contrast,
    /// The same for brightness.
    Brightness,
    /// The same for sharpness.
    Sharpness,
    /// ±0.3 · M / 10.
    ShearX,
    /// ±0.3 · M / 10.
    ShearY,
    /// ±0.45 · M / 10 of the width.
    TranslateX,
    /// ±0.45 · M / 10 of the height.
    TranslateY,
}

/// timm's RandAugment: operations at random, each applied with probability 1/2 at a magnitude from a normal distribution.
///
/// The defaults are `rand-m9-n1-mstd0.4-inc1`.
///
/// ```
/// use spikelet_data::{Image, ImageTransform, SampleRandom, TimmOp, TimmRandAugment};
///
/// let mut image = Image::new((0..3 * 32 * 32).map(|k| k as u8).collect(), [3, 32, 32])?;
/// let operations = vec![TimmOp::Equalize, TimmOp::Rotate];
/// let augmentation = TimmRandAugment { operations, ..TimmRandAugment::default() };
/// augmentation.augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// assert_eq!(image.shape(), [3, 32, 32]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = |table| slashes(table, &["ops", "magnitude", "deviation"]), check = ImageTransform::fits)]
pub struct TimmRandAugment {
    /// The number of operations that are drawn.
    #[schema(main, default = 1, at_least = 1, at_most = 16)]
    pub ops: usize,
    /// The mean of the magnitude.
    #[schema(default = 9.0, from = 0, to = 10)]
    pub magnitude: f32,
    /// The standard deviation of the magnitude.
    #[schema(default = 0.4, at_least = 0)]
    pub deviation: f32,
    /// The operations that may be drawn.
    #[schema(default = TimmOp::ALL.to_vec())]
    pub operations: Vec<TimmOp>,
    /// The byte of pixels from outside the image.
    #[schema(default = GRAY)]
    pub fill: u8,
}

impl ImageTransform for TimmRandAugment {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        for _ in 0..self.ops {
            let kind = self.operations[random.below(self.operations.len())];
            if random.chance(0.5) {
                let magnitude = self.magnitude + self.deviation * random.normal();
                let negative = random.chance(0.5);
                let part = (magnitude / 10.0).clamp(0.0, 1.0);
                kind.at(part, negative, image.shape())
                    .apply(image, self.fill);
            }
        }
        Ok(())
    }

    fn fits(&self) -> Result<()> {
        let count = self.operations.len();
        check_range(
            Self::DECLARATION.name,
            "operations",
            count as f64,
            count > 0,
            "at least one",
        )
    }
}

impl TimmOp {
    /// The operation at this part of the largest magnitude.
    fn at(self, part: f32, negative: bool, [_, height, width]: [usize; 3]) -> ImageOp {
        let signed = |end: f32| if negative { -end * part } else { end * part };
        let factor = || (1.0 + signed(0.9)).max(0.1);
        let pixels = |side: usize| (signed(0.45) * side as f32) as i32;
        let whole = |end: f32| (end * part) as u32;
        match self {
            Self::AutoContrast => ImageOp::AutoContrast,
            Self::Equalize => ImageOp::Equalize,
            Self::Invert => ImageOp::Invert,
            Self::Rotate => ImageOp::Rotate(signed(30.0)),
            Self::Posterize => ImageOp::Posterize(4 - whole(4.0)),
            Self::Solarize => ImageOp::Solarize((256 - whole(256.0)) as f32),
            Self::SolarizeAdd => ImageOp::SolarizeAdd(whole(110.0) as u8),
            Self::Color => ImageOp::Color(factor()),
            Self::Contrast => ImageOp::Contrast(factor()),
            Self::Brightness => ImageOp::Brightness(factor()),
            Self::Sharpness => ImageOp::Sharpness(factor()),
            Self::ShearX => ImageOp::ShearX(signed(0.3)),
            Self::ShearY => ImageOp::ShearY(signed(0.3)),
            Self::TranslateX => ImageOp::TranslateX(pixels(width)),
            Self::TranslateY => ImageOp::TranslateY(pixels(height)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_severity_grows_with_the_magnitude() {
        let at = |op: TimmOp, part| op.at(part, true, [3, 32, 40]);
        for (op, half, all) in [
            (
                TimmOp::Rotate,
                ImageOp::Rotate(-15.0),
                ImageOp::Rotate(-30.0),
            ),
            (
                TimmOp::Posterize,
                ImageOp::Posterize(2),
                ImageOp::Posterize(0),
            ),
            (
                TimmOp::Solarize,
                ImageOp::Solarize(128.0),
                ImageOp::Solarize(0.0),
            ),
            (
                TimmOp::SolarizeAdd,
                ImageOp::SolarizeAdd(55),
                ImageOp::SolarizeAdd(110),
            ),
            (TimmOp::Color, ImageOp::Color(0.55), ImageOp::Color(0.1)),
            (
                TimmOp::ShearX,
                ImageOp::ShearX(-0.15),
                ImageOp::ShearX(-0.3),
            ),
            (
                TimmOp::TranslateX,
                ImageOp::TranslateX(-9),
                ImageOp::TranslateX(-18),
            ),
            (
                TimmOp::TranslateY,
                ImageOp::TranslateY(-7),
                ImageOp::TranslateY(-14),
            ),
        ] {
            for (part, expected) in [(0.5, half), (1.0, all)] {
                assert_eq!(format!("{:.4?}", at(op, part)), format!("{expected:.4?}"));
            }
        }
    }

    #[test]
    fn half_of_the_images_are_changed() {
        let augmentation = TimmRandAugment {
            operations: vec![TimmOp::Invert],
            ..TimmRandAugment::default()
        };
        let changed = |index| {
            let mut image = Image::new(vec![7; 12], [3, 2, 2]).unwrap();
            let mut random = SampleRandom::of_sample(1, 0, index);
            augmentation.augment(&mut image, &mut random).unwrap();
            image.pixels()[0] != 7
        };
        let count = (0..400).filter(|&index| changed(index)).count();
        assert!((160..240).contains(&count), "{count} of 400");
    }

    #[test]
    fn values_outside_their_range_are_refused() {
        let good = TimmRandAugment::default;
        for (wrong, part) in [
            (TimmRandAugment { ops: 0, ..good() }, "ops"),
            (
                TimmRandAugment {
                    magnitude: 11.0,
                    ..good()
                },
                "magnitude",
            ),
            (
                TimmRandAugment {
                    deviation: f32::NAN,
                    ..good()
                },
                "deviation",
            ),
            (
                TimmRandAugment {
                    operations: vec![],
                    ..good()
                },
                "operations",
            ),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
