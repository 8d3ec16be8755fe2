//! Random brightness, contrast, saturation and hue, as torchvision's `ColorJitter`.

use super::{ImageTransform, slashes};
use crate::augment::image::Image;
use crate::augment::op::ImageOp;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// Changes brightness, contrast, saturation and hue in random order.
///
/// Saturation and hue change images of three channels only.
///
/// ```
/// use spikelet_data::{ColorJitter, Image, ImageTransform, SampleRandom};
///
/// let jitter = ColorJitter { brightness: 0.2, contrast: 0.2, saturation: 0.0, hue: 0.0 };
/// let mut image = Image::new((0..3 * 8 * 8).collect(), [3, 8, 8])?;
/// jitter.augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = |table| slashes(table, &["brightness", "contrast", "saturation", "hue"]))]
pub struct ColorJitter {
    /// The largest relative change of the brightness.
    #[schema(main, default = 0.4, at_least = 0)]
    pub brightness: f32,
    /// The largest relative change of the contrast.
    #[schema(default = 0.4, at_least = 0)]
    pub contrast: f32,
    /// The largest relative change of the saturation.
    #[schema(default = 0.4, at_least = 0)]
    pub saturation: f32,
    /// The largest shift of the hue in turns.
    #[schema(default = 0.1, from = 0, to = 0.5)]
    pub hue: f32,
}

impl ImageTransform for ColorJitter {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        let mut factor = |range: f32| random.between((1.0 - range).max(0.0), 1.0 + range);
        let mut ops = [
            (
                self.brightness,
                ImageOp::Brightness(factor(self.brightness)),
            ),
            (self.contrast, ImageOp::Contrast(factor(self.contrast))),
            (self.saturation, ImageOp::Color(factor(self.saturation))),
            (self.hue, ImageOp::Hue(random.between(-self.hue, self.hue))),
        ];
        for last in (1..ops.len()).rev() {
            ops.swap(last, random.below(last + 1));
        }
        for (range, op) in ops {
            if range != 0.0 {
                op.apply(image, 0);
            }
        }
        Ok(())
    }
}
