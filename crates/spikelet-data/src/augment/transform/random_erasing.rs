//! Random erasing: a rectangle of random area and aspect ratio.
//!
//! Source: Z. Zhong, L. Zheng, G. Kang, S. Li, Y. Yang, *Random erasing data augmentation*, arXiv:1708.04896 (2017);
//! defaults as in torchvision's `RandomErasing`.

use spikelet_expr::math::{exp, ln};

use super::{ImageTransform, check_ordered};
use crate::augment::image::Image;
use crate::error::Result;
use crate::sample_random::SampleRandom;
use spikelet_schema::Schema;
use spikelet_schema::document::Node;

/// Overwrites a random rectangle with a probability.
///
/// An area or ratio that does not fit into the image is drawn again, at most ten times.
///
/// ```
/// use spikelet_data::{EraseFill, Image, ImageTransform, RandomErasing, SampleRandom};
///
/// let erasing = RandomErasing { probability: 1.0, fill: EraseFill::Constant, value: 7, ..RandomErasing::default() };
/// let mut image = Image::new(vec![200; 3 * 32 * 32], [3, 32, 32])?;
/// erasing.augment(&mut image, &mut SampleRandom::of_sample(1, 0, 17))?;
/// assert!(image.pixels().contains(&7) && image.pixels().contains(&200));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = with_constant, check = ImageTransform::fits)]
pub struct RandomErasing {
    /// The probability with which an image is changed.
    #[schema(main, default = 0.5, from = 0, to = 1)]
    pub probability: f32,
    /// The smallest and the largest area, as a fraction of the image.
    #[schema(default = [0.02, 0.33], above = 0, at_most = 1)]
    pub area: [f32; 2],
    /// The smallest and the largest ratio of height to width.
    #[schema(default = [0.3, 3.3], above = 0, at_most = 1e6)]
    pub aspect: [f32; 2],
    /// The bytes of the rectangle.
    #[schema(default = EraseFill::Noise)]
    pub fill: EraseFill,
    /// The byte of a constant fill.
    pub value: u8,
}

/// A constant fill was a table with its byte.
fn with_constant(table: &Node) -> Option<Node> {
    let value = table.get("fill")?.get("value")?.clone();
    let constant = Node::text_of(EraseFill::Constant.name());
    Some(table.with("fill", constant).with("value", value))
}

/// The bytes of an erased rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub enum EraseFill {
    /// The byte `value` in all channels and pixels.
    Constant,
    /// One random gray for each rectangle.
    RandomGray,
    /// A random byte in every channel and pixel.
    Noise,
}

impl ImageTransform for RandomErasing {
    fn augment(&self, image: &mut Image, random: &mut SampleRandom) -> Result<()> {
        if !random.chance(self.probability) {
            return Ok(());
        }
        let [_, height, width] = image.shape();
        let Some([rows, columns]) = self.draw_size([height, width], random) else {
            return Ok(());
        };
        let top = random.below(height - rows + 1);
        let left = random.below(width - columns + 1);
        let gray = match self.fill {
            EraseFill::Constant => self.value,
            EraseFill::RandomGray | EraseFill::Noise => random.next_u32() as u8,
        };
        for plane in image.planes_mut() {
            for row in plane.chunks_exact_mut(width).skip(top).take(rows) {
                let erased = &mut row[left..left + columns];
                if self.fill == EraseFill::Noise {
                    for bytes in erased.chunks_mut(4) {
                        let noise = random.next_u32().to_le_bytes();
                        bytes.copy_from_slice(&noise[..bytes.len()]);
                    }
                } else {
                    erased.fill(gray);
                }
            }
        }
        Ok(())
    }

    fn fits(&self) -> Result<()> {
        check_ordered(Self::DECLARATION.name, "area", self.area)?;
        check_ordered(Self::DECLARATION.name, "aspect", self.aspect)
    }
}

impl RandomErasing {
    /// The height and width of a rectangle that is smaller than the image.
    fn draw_size(
        &self,
        [height, width]: [usize; 2],
        random: &mut SampleRandom,
    ) -> Option<[usize; 2]> {
        (0..10).find_map(|_| {
            let area = (height * width) as f32 * random.between(self.area[0], self.area[1]);
            let aspect = exp(random.between(ln(self.aspect[0]), ln(self.aspect[1])));
            let rows = (area * aspect).sqrt().round_ties_even() as usize;
            let columns = (area / aspect).sqrt().round_ties_even() as usize;
            (rows < height && columns < width).then_some([rows, columns])
        })
    }
}
