//! Random brightness, contrast, saturation and hue, as torchvision's `ColorJitter`.

use serde::{Deserialize, Serialize};

use super::registry::Named;
use super::{ImageAugmentation, check_range};
use crate::augment::image::Image;
use crate::augment::op::ImageOp;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// Changes brightness, contrast, saturation and hue in random order.
///
/// | field | default | |
/// |---|---|---|
/// | `brightness`, `contrast`, `saturation` | 0.4 | b is a factor of max(0, 1 − b) to 1 + b |
/// | `hue` | 0.1 | turns, 0 to 0.5: a shift by −hue to hue |
///
/// Saturation and hue change images of three channels only.
///
/// ```
/// use spikelet_data::{ColorJitter, Image, ImageAugmentation, SampleRandom};
///
/// let jitter = ColorJitter { brightness: 0.2, contrast: 0.2, saturation: 0.0, hue: 0.0 };
/// let mut image = Image::new((0..3 * 8 * 8).collect(), [3, 8, 8])?;
/// jitter.augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColorJitter {
    /// The largest relative change of the brightness.
    pub brightness: f32,
    /// The largest relative change of the contrast.
    pub contrast: f32,
    /// The largest relative change of the saturation.
    pub saturation: f32,
    /// The largest shift of the hue in turns.
    pub hue: f32,
}

impl Default for ColorJitter {
    fn default() -> Self {
        Self {
            brightness: 0.4,
            contrast: 0.4,
            saturation: 0.4,
            hue: 0.1,
        }
    }
}

impl Named for ColorJitter {
    const NAME: &'static str = "color-jitter";
    const USAGE: &'static str = "color-jitter=BRIGHTNESS/CONTRAST/SATURATION/HUE";

    fn from_values(values: &[f32]) -> Option<Self> {
        let &[brightness, contrast, saturation, hue] = values else {
            return None;
        };
        Some(Self {
            brightness,
            contrast,
            saturation,
            hue,
        })
    }
}

impl ImageAugmentation for ColorJitter {
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

    fn check(&self) -> Result<()> {
        for (field, value) in [
            ("brightness", self.brightness),
            ("contrast", self.contrast),
            ("saturation", self.saturation),
        ] {
            let good = (0.0..=f32::MAX).contains(&value);
            check_range(Self::NAME, field, value.into(), good, "0 or more")?;
        }
        let good = (0.0..=0.5).contains(&self.hue);
        check_range(Self::NAME, "hue", self.hue.into(), good, "0 to 0.5 turns")
    }
}
