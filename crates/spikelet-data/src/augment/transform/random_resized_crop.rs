//! A crop of random area and aspect ratio, resized.
//!
//! Source: C. Szegedy et al., *Going deeper with convolutions*, arXiv:1409.4842 (2014); drawn as in torchvision's
//! `RandomResizedCrop`.

use spikelet_expr::math::{exp, ln};

use super::resample::resample;
use super::size::MAX_SIDE;
use super::{ImageTransform, check_ordered};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;
use spikelet_schema::document::{Content, Node};

/// A random crop that is resized to one size, bilinearly with antialiasing: the usual augmentation of ImageNet.
///
/// Without `size` it is resized to the size of the image. Of images in files, [`Split::training`](crate::Split::training) then crops the
/// image as it is in its file, and resizes the crop to the size that the network takes.
///
/// An area or ratio that does not fit into the image is drawn again; after ten draws the crop is the largest in the
/// middle that keeps the bounds of the ratio.
///
/// ```
/// use spikelet_data::{Image, ImageTransform, RandomResizedCrop, SampleRandom};
///
/// let mut image = Image::new(vec![100; 3 * 375 * 500], [3, 375, 500])?;
/// RandomResizedCrop::new([224, 224]).augment(&mut image, &mut SampleRandom::of_sample(0, 0, 0))?;
/// assert_eq!(image.shape(), [3, 224, 224]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = with_least_area, check = ImageTransform::fits)]
pub struct RandomResizedCrop {
    /// The height and width of the result; without it those of the image.
    #[schema(at_least = 1, at_most = MAX_SIDE)]
    pub size: Option<[usize; 2]>,
    /// The smallest and the largest area, as a fraction of the image.
    #[schema(main, default = [0.08, 1.0], above = 0, at_most = 1)]
    pub area: [f32; 2],
    /// The smallest and the largest ratio of width to height.
    #[schema(default = [3.0 / 4.0, 4.0 / 3.0], at_least = 1e-6, at_most = 1e6)]
    pub aspect: [f32; 2],
}

/// The value of `resized-crop` was the smallest area.
fn with_least_area(table: &Node) -> Option<Node> {
    let least = table.get("area")?;
    match least.content {
        Content::Integer(_) | Content::Float(_) => {
            let most = Content::Float(1.0).into();
            let area = Content::List(vec![least.clone(), most]).into();
            Some(table.with("area", area))
        }
        _ => None,
    }
}

impl RandomResizedCrop {
    /// A crop that is resized to this height and width, with the usual area and aspect ratio.
    #[must_use]
    pub fn new(size: [usize; 2]) -> Self {
        Self {
            size: Some(size),
            ..Self::default()
        }
    }

    /// The upper left corner and the size of a crop, rows first.
    fn draw(
        &self,
        [height, width]: [usize; 2],
        random: &mut SampleRandom,
    ) -> ([usize; 2], [usize; 2]) {
        for _ in 0..10 {
            let area = (height * width) as f32 * random.between(self.area[0], self.area[1]);
            let aspect = exp(random.between(ln(self.aspect[0]), ln(self.aspect[1])));
            let columns = (area * aspect).sqrt().round_ties_even() as usize;
            let rows = (area / aspect).sqrt().round_ties_even() as usize;
            if (1..=height).contains(&rows) && (1..=width).contains(&columns) {
                let top = random.below(height - rows + 1);
                let left = random.below(width - columns + 1);
                return ([top, left], [rows, columns]);
            }
        }
        let ratio = width as f32 / height as f32;
        let [least, most] = self.aspect;
        let rounded = |side: f32, most: usize| (side.round_ties_even() as usize).clamp(1, most);
        let size = if ratio < least {
            [rounded(width as f32 / least, height), width]
        } else if ratio > most {
            [height, rounded(height as f32 * most, width)]
        } else {
            [height, width]
        };
        ([(height - size[0]) / 2, (width - size[1]) / 2], size)
    }
}

impl ImageTransform for RandomResizedCrop {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        let [_, height, width] = image.shape();
        let (corner, size) = self.draw([height, width], random);
        resample(image, corner, size, self.size.unwrap_or([height, width]))
    }

    fn fits(&self) -> Result<()> {
        check_ordered(Self::DECLARATION.name, "area", self.area)?;
        check_ordered(Self::DECLARATION.name, "aspect", self.aspect)
    }

    fn output_shape(&self, [channels, height, width]: [Option<usize>; 3]) -> [Option<usize>; 3] {
        match self.size {
            Some([height, width]) => [channels, Some(height), Some(width)],
            None => [channels, height, width],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crops_lie_in_the_image_and_cover_the_range_of_areas_and_ratios() {
        let crop = RandomResizedCrop::new([8, 8]);
        let [mut areas, mut aspects] = [[f32::MAX, 0.0_f32]; 2];
        for index in 0..2_000 {
            let mut random = SampleRandom::of_sample(1, 0, index);
            let ([top, left], [rows, columns]) = crop.draw([375, 500], &mut random);
            assert!(top + rows <= 375 && left + columns <= 500);
            let extend = |range: &mut [f32; 2], value: f32| {
                *range = [range[0].min(value), range[1].max(value)];
            };
            extend(&mut areas, (rows * columns) as f32 / (375.0 * 500.0));
            extend(&mut aspects, columns as f32 / rows as f32);
        }
        assert!(
            areas[0] > 0.078 && areas[0] < 0.09 && areas[1] > 0.95,
            "{areas:?}"
        );
        assert!(aspects[0] > 0.74 && aspects[0] < 0.77, "{aspects:?}");
        assert!(aspects[1] < 1.35 && aspects[1] > 1.3, "{aspects:?}");
    }

    #[test]
    fn a_crop_that_never_fits_is_the_largest_in_the_middle() {
        let crop = RandomResizedCrop {
            area: [1.0, 1.0],
            ..RandomResizedCrop::new([8, 8])
        };
        let mut random = SampleRandom::of_sample(1, 0, 0);
        assert_eq!(crop.draw([10, 100], &mut random), ([0, 43], [10, 13]));
        assert_eq!(crop.draw([100, 10], &mut random), ([43, 0], [13, 10]));
        assert_eq!(crop.draw([1, 1], &mut random), ([0, 0], [1, 1]));
    }
}
