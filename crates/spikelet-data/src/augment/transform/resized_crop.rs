//! A random crop that is resized to the size of the image: [`RandomResizedCrop`] by name.

use serde::{Deserialize, Serialize};

use super::registry::Named;
use super::{ImageAugmentation, RandomResizedCrop};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// A random crop, resized to the size of the image. Of images in files, [`LazySplit`](crate::LazySplit) crops the image as
/// it is in its file, and resizes the crop to the size that the network takes.
///
/// | field | default | |
/// |---|---|---|
/// | `area` | [0.08, 1] | smallest and largest area, as a fraction of the image |
/// | `aspect` | [3/4, 4/3] | smallest and largest ratio of width to height, log-uniform |
///
/// ```
/// use spikelet_data::{Image, ImageAugmentation, ResizedCrop, SampleRandom};
///
/// let mut image = Image::new(vec![100; 3 * 32 * 32], [3, 32, 32])?;
/// ResizedCrop::default().augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))?;
/// assert_eq!(image.shape(), [3, 32, 32]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResizedCrop {
    /// The smallest and the largest area, as a fraction of the image.
    pub area: [f32; 2],
    /// The smallest and the largest ratio of width to height.
    pub aspect: [f32; 2],
}

impl ResizedCrop {
    /// The same crop, resized to this height and width.
    #[must_use]
    pub fn to(&self, size: [usize; 2]) -> RandomResizedCrop {
        let Self { area, aspect } = *self;
        RandomResizedCrop { size, area, aspect }
    }
}

impl Default for ResizedCrop {
    fn default() -> Self {
        let RandomResizedCrop { area, aspect, .. } = RandomResizedCrop::new([1, 1]);
        Self { area, aspect }
    }
}

impl Named for ResizedCrop {
    const NAME: &'static str = "resized-crop";
    const USAGE: &'static str = "resized-crop=SMALLEST_AREA";

    fn from_values(values: &[f32]) -> Option<Self> {
        match *values {
            [least] => Some(Self {
                area: [least, 1.0],
                ..Self::default()
            }),
            _ => None,
        }
    }
}

impl ImageAugmentation for ResizedCrop {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        let [_, height, width] = image.shape();
        self.to([height, width]).augment(image, random)
    }

    fn check(&self) -> Result<()> {
        self.to([1, 1]).check()
    }
}
