//! Resizing of complete images.

use serde::{Deserialize, Serialize};

use super::ImageAugmentation;
use super::resample::resample;
use super::size::check_size;
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// Resizes an image bilinearly with antialiasing, as torchvision's `Resize` on PIL images.
///
/// ```
/// use spikelet_data::{Image, ImageAugmentation, Resize, SampleRandom};
///
/// let mut image = Image::new(vec![100; 3 * 375 * 500], [3, 375, 500])?;
/// let mut random = SampleRandom::of_sample(0, 0, 0);
/// Resize::ShorterSide(256).augment(&mut image, &mut random)?;
/// assert_eq!(image.shape(), [3, 256, 341]);
/// Resize::To([224, 224]).augment(&mut image, &mut random)?;
/// assert_eq!(image.pixels(), [100; 3 * 224 * 224]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resize {
    /// To this height and width.
    To([usize; 2]),
    /// The shorter side to this size; the aspect ratio is kept.
    ShorterSide(usize),
    /// To the smallest size that covers this height and width; the aspect ratio is kept.
    Cover([usize; 2]),
}

impl ImageAugmentation for Resize {
    fn augment(&self, image: &mut Image, _: &mut SampleRandom) -> Result<()> {
        let [_, height, width] = image.shape();
        let new = match *self {
            Self::To(size) => size,
            Self::Cover([rows, columns]) => {
                let scaled = |side: usize, to: usize, of: usize| {
                    (side as u128 * to as u128 / of as u128) as usize
                };
                // Whether the height is what the size needs most of.
                let size = match rows as u128 * width as u128 >= columns as u128 * height as u128 {
                    true => [rows, scaled(width, rows, height)],
                    false => [scaled(height, columns, width), columns],
                };
                check_size("resize", size)?;
                size
            }
            Self::ShorterSide(size) => {
                let [short, long] = [height.min(width), height.max(width)];
                let long = (size as u128 * long as u128 / short as u128) as usize;
                check_size("resize", [size, long])?;
                if height <= width {
                    [size, long]
                } else {
                    [long, size]
                }
            }
        };
        if new == [height, width] {
            return Ok(());
        }
        resample(image, [0, 0], [height, width], new)
    }

    fn check(&self) -> Result<()> {
        match *self {
            Self::To(size) | Self::Cover(size) => check_size("resize", size),
            Self::ShorterSide(size) => check_size("resize", [size, size]),
        }
    }

    fn output_shape(&self, [channels, ..]: [Option<usize>; 3]) -> [Option<usize>; 3] {
        match *self {
            Self::To([height, width]) => [channels, Some(height), Some(width)],
            Self::ShorterSide(_) | Self::Cover(_) => [channels, None, None],
        }
    }
}
