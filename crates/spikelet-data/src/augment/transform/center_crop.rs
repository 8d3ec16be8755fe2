//! A crop from the middle.

use serde::{Deserialize, Serialize};

use super::ImageAugmentation;
use super::random_crop::{Border, crop};
use super::size::check_size;
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// The middle of the image, as torchvision's `CenterCrop`. A smaller image has a black border.
///
/// ```
/// use spikelet_data::{CenterCrop, Image, ImageAugmentation, SampleRandom};
///
/// let mut image = Image::new((0..16).collect(), [1, 4, 4])?;
/// CenterCrop { size: [2, 2] }.augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))?;
/// assert_eq!(image.pixels(), [5, 6, 9, 10]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CenterCrop {
    /// The height and width of the crop.
    pub size: [usize; 2],
}

impl ImageAugmentation for CenterCrop {
    fn augment(&self, image: &mut Image, _: &mut SampleRandom) -> Result<()> {
        let [_, height, width] = image.shape();
        let corner = [(height, self.size[0]), (width, self.size[1])].map(|(side, size)| {
            if side >= size {
                // The nearest integer, even at a tie.
                (((side - size) as f64) / 2.0).round_ties_even() as isize
            } else {
                -(((size - side) / 2) as isize)
            }
        });
        crop(image, corner, self.size, Border::Constant(0));
        Ok(())
    }

    fn check(&self) -> Result<()> {
        check_size("center-crop", self.size)
    }

    fn output_shape(&self, [channels, ..]: [Option<usize>; 3]) -> [Option<usize>; 3] {
        [channels, Some(self.size[0]), Some(self.size[1])]
    }
}
