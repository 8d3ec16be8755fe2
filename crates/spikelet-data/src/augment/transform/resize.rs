//! Resizing of complete images.

use spikelet_schema::Schema;

use super::resample::resample;
use super::size::MAX_SIDE;
use super::{ImageTransform, check_range};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// Resizes an image bilinearly with antialiasing, as torchvision's `Resize` on PIL images.
///
/// ```
/// use spikelet_data::{Image, ImageTransform, Resize, SampleRandom};
///
/// let mut image = Image::new(vec![100; 3 * 375 * 500], [3, 375, 500])?;
/// let mut random = SampleRandom::of_sample(0, 0, 0);
/// Resize::shorter_side(256).augment(&mut image, &mut random)?;
/// assert_eq!(image.shape(), [3, 256, 341]);
/// Resize::to([224, 224]).augment(&mut image, &mut random)?;
/// assert_eq!(image.pixels(), [100; 3 * 224 * 224]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
pub struct Resize {
    /// The height and width of the result.
    #[schema(main, required, default = [1, 1], at_least = 1, at_most = MAX_SIDE)]
    pub size: [usize; 2],
    /// Whether the result is the smallest size that covers height and width, and the aspect ratio is kept.
    pub cover: bool,
}

impl Resize {
    /// To this height and width.
    #[must_use]
    pub fn to(size: [usize; 2]) -> Self {
        Self { size, cover: false }
    }

    /// To the smallest size that covers this height and width; the aspect ratio is kept.
    #[must_use]
    pub fn cover(size: [usize; 2]) -> Self {
        Self { size, cover: true }
    }

    /// The shorter side to this size; the aspect ratio is kept.
    #[must_use]
    pub fn shorter_side(side: usize) -> Self {
        Self::cover([side; 2])
    }

    /// The size that covers.
    fn covering(&self, [height, width]: [usize; 2]) -> [usize; 2] {
        let [rows, columns] = self.size;
        let scaled =
            |side: usize, to: usize, of: usize| (side as u128 * to as u128 / of as u128) as usize;
        // Whether the height is what the size needs most of.
        match rows as u128 * width as u128 >= columns as u128 * height as u128 {
            true => [rows, scaled(width, rows, height)],
            false => [scaled(height, columns, width), columns],
        }
    }
}

impl ImageTransform for Resize {
    fn augment(&self, image: &mut Image, _: &mut SampleRandom) -> Result<()> {
        let [_, height, width] = image.shape();
        let new = match self.cover {
            true => self.covering([height, width]),
            false => self.size,
        };
        for side in new {
            let fits = (1..=MAX_SIDE).contains(&side);
            check_range(
                Self::DECLARATION.name,
                "size",
                side as f64,
                fits,
                "1 to 32768 pixels",
            )?;
        }
        match new == [height, width] {
            true => Ok(()),
            false => resample(image, [0, 0], [height, width], new),
        }
    }

    fn output_shape(&self, [channels, ..]: [Option<usize>; 3]) -> [Option<usize>; 3] {
        match (self.cover, self.size) {
            (false, [height, width]) => [channels, Some(height), Some(width)],
            (true, _) => [channels, None, None],
        }
    }
}
