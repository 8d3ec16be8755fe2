//! A random crop after padding.

use super::ImageTransform;
use super::size::MAX_SIDE;
use crate::augment::image::Image;
use crate::error::Result;
use crate::image_error::ImageError;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;

/// The pixels outside the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub enum Border {
    /// One byte in all channels and pixels.
    Constant,
    /// The image mirrored at its edge, without the edge itself.
    Reflect,
}

/// A crop at a random position of the padded image.
///
/// ```
/// use spikelet_data::{Border, Image, ImageTransform, RandomCrop, SampleRandom};
///
/// let crop = RandomCrop { padding: 4, border: Border::Reflect, ..RandomCrop::default() };
/// let mut image = Image::new(vec![200; 3 * 32 * 32], [3, 32, 32])?;
/// crop.augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// assert_eq!(image.pixels(), [200; 3 * 32 * 32]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Schema)]
pub struct RandomCrop {
    /// The height and width of the crop; without it those of the image.
    #[schema(at_least = 1, at_most = MAX_SIDE)]
    pub size: Option<[usize; 2]>,
    /// The width of the border in pixels.
    #[schema(main, at_least = 0, at_most = 1 << 16)]
    pub padding: usize,
    /// The pixels of the border.
    #[schema(default = Border::Constant)]
    pub border: Border,
    /// The byte of a constant border.
    pub fill: u8,
}

impl ImageTransform for RandomCrop {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        let [_, height, width] = image.shape();
        let size = self.size.unwrap_or([height, width]);
        let padded = [height, width].map(|side| side.saturating_add(2 * self.padding));
        if size[0] > padded[0] || size[1] > padded[1] {
            return Err(ImageError::Shape {
                operation: "a random crop",
                expected: format!(
                    "at least {}x{} pixels with its padding of {}",
                    size[0], size[1], self.padding
                ),
                shape: image.shape(),
            }
            .into());
        }
        let corner = [0, 1].map(|axis| {
            random.below(padded[axis] - size[axis] + 1) as isize - self.padding as isize
        });
        crop(image, corner, size, self.border, self.fill);
        Ok(())
    }

    fn output_shape(&self, [channels, height, width]: [Option<usize>; 3]) -> [Option<usize>; 3] {
        match self.size {
            Some([height, width]) => [channels, Some(height), Some(width)],
            None => [channels, height, width],
        }
    }
}

/// The rectangle of `size` with its upper left corner in row and column `corner` of the image.
pub(super) fn crop(
    image: &mut Image,
    corner: [isize; 2],
    size: [usize; 2],
    border: Border,
    fill: u8,
) {
    let [_, height, width] = image.shape();
    let [top, left] = corner;
    if top == 0 && left == 0 && size == [height, width] {
        return;
    }
    // Columns that lie in the image.
    let start = (-left).clamp(0, size[1] as isize) as usize;
    let end = (width as isize - left).clamp(start as isize, size[1] as isize) as usize;
    image.map_planes(size, |old, new| {
        for (y, row) in new.chunks_exact_mut(size[1]).enumerate() {
            let y = y as isize + top;
            let y = match border {
                Border::Reflect => reflect(y, height),
                Border::Constant if y < 0 || y >= height as isize => {
                    row.fill(fill);
                    continue;
                }
                Border::Constant => y as usize,
            };
            let old = &old[y * width..][..width];
            if start < end {
                let first = (start as isize + left) as usize;
                row[start..end].copy_from_slice(&old[first..first + end - start]);
            }
            for x in (0..start).chain(end..size[1]) {
                row[x] = match border {
                    Border::Constant => fill,
                    Border::Reflect => old[reflect(x as isize + left, width)],
                };
            }
        }
    });
}

/// The pixel that a position outside of `side` pixels shows.
fn reflect(at: isize, side: usize) -> usize {
    let last = side as isize - 1;
    if last == 0 {
        return 0;
    }
    let folded = at.rem_euclid(2 * last);
    folded.min(2 * last - folded) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cropped(corner: [isize; 2], size: [usize; 2], border: Border) -> Vec<u8> {
        let mut image = Image::new((1..=6).collect(), [1, 2, 3]).unwrap();
        crop(&mut image, corner, size, border, 9);
        assert_eq!(image.shape(), [1, size[0], size[1]]);
        image.into_pixels()
    }

    #[test]
    fn a_crop_takes_the_pixels_of_its_rectangle() {
        let border = Border::Constant;
        assert_eq!(cropped([0, 0], [2, 3], border), [1, 2, 3, 4, 5, 6]);
        assert_eq!(cropped([0, 1], [2, 2], border), [2, 3, 5, 6]);
        assert_eq!(cropped([-1, -1], [2, 3], border), [9, 9, 9, 9, 1, 2]);
        assert_eq!(cropped([1, 2], [2, 2], border), [6, 9, 9, 9]);
        assert_eq!(cropped([-5, 7], [1, 2], border), [9, 9]);
    }

    #[test]
    fn a_reflected_border_mirrors_the_image_without_its_edge() {
        let found = cropped([-1, -2], [4, 7], Border::Reflect);
        let row = |y: u8| [3, 2, 1, 2, 3, 2, 1].map(|x| x + y);
        assert_eq!(found, [row(3), row(0), row(3), row(0)].concat());
    }
}
