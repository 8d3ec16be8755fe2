//! A crop from the middle.

use super::ImageTransform;
use super::random_crop::{Border, crop};
use super::size::MAX_SIDE;
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// The middle of the image, as torchvision's `CenterCrop`. A smaller image has a black border.
///
/// ```
/// use spikelet_data::{CenterCrop, Image, ImageTransform, SampleRandom};
///
/// let mut image = Image::new((0..16).collect(), [1, 4, 4])?;
/// CenterCrop { size: [2, 2] }.augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))?;
/// assert_eq!(image.pixels(), [5, 6, 9, 10]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
pub struct CenterCrop {
    /// The height and width of the crop.
    #[schema(main, required, default = [1, 1], at_least = 1, at_most = MAX_SIDE)]
    pub size: [usize; 2],
}

impl ImageTransform for CenterCrop {
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
        crop(image, corner, self.size, Border::Constant, 0);
        Ok(())
    }

    fn output_shape(&self, [channels, ..]: [Option<usize>; 3]) -> [Option<usize>; 3] {
        [channels, Some(self.size[0]), Some(self.size[1])]
    }
}
