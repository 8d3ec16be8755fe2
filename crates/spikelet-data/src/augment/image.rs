//! An 8-bit image, on which the augmentations of papers work.

use crate::error::Result;
use crate::image_error::ImageError;

/// An 8-bit image `[channels, height, width]`, with a second buffer for operations that cannot work in place.
///
/// Three channels are red, green and blue; one channel is grayscale.
///
/// ```
/// use spikelet_data::Image;
///
/// let image = Image::new(vec![10, 20, 30, 40], [1, 2, 2])?;
/// assert_eq!(image.shape(), [1, 2, 2]);
/// assert_eq!(image.into_pixels(), [10, 20, 30, 40]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Image {
    shape: [usize; 3],
    pixels: Vec<u8>,
    spare: Vec<u8>,
}

impl Image {
    /// An image of `pixels` in the order of `[channels, height, width]`.
    ///
    /// # Errors
    /// [`ImageError::Pixels`] if the number of pixels is not the product of `shape`, or 0.
    pub fn new(pixels: Vec<u8>, shape: [usize; 3]) -> Result<Self> {
        let expected = shape.iter().try_fold(1_usize, |a, &b| a.checked_mul(b));
        if pixels.is_empty() || expected != Some(pixels.len()) {
            let found = pixels.len();
            return Err(ImageError::Pixels { found, shape }.into());
        }
        Ok(Self {
            shape,
            pixels,
            spare: Vec::new(),
        })
    }

    /// A black image. Every side is at least 1.
    pub(crate) fn black(shape: [usize; 3]) -> Self {
        Self {
            shape,
            pixels: vec![0; shape.iter().product()],
            spare: Vec::new(),
        }
    }

    /// Channels, height and width.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The pixels in the order of `[channels, height, width]`.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The pixels, to be changed.
    pub fn pixels_mut(&mut self) -> &mut [u8] {
        &mut self.pixels
    }

    /// The pixels without their shape.
    #[must_use]
    pub fn into_pixels(self) -> Vec<u8> {
        self.pixels
    }

    /// The pixels of each channel, to be changed.
    pub(crate) fn planes_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let [_, height, width] = self.shape;
        self.pixels.chunks_exact_mut(height * width)
    }

    /// The planes of red, green and blue; `None` for another number of channels.
    pub(crate) fn colors_mut(&mut self) -> Option<[&mut [u8]; 3]> {
        let [3, height, width] = self.shape else {
            return None;
        };
        let (red, rest) = self.pixels.split_at_mut(height * width);
        let (green, blue) = rest.split_at_mut(height * width);
        Some([red, green, blue])
    }

    /// Replaces the shape by `[channels, height, width]` with another `size`, and the pixels by those of `write`.
    #[cfg(feature = "images")]
    pub(crate) fn replace(&mut self, [height, width]: [usize; 2], write: impl FnOnce(&mut [u8])) {
        let [channels, ..] = self.shape;
        self.pixels.resize(channels * height * width, 0);
        write(&mut self.pixels);
        self.shape = [channels, height, width];
    }

    /// Replaces every channel by one of `size` (height, width), which `write` computes from the old one. The new
    /// pixels have no defined value before.
    pub(crate) fn map_planes(&mut self, size: [usize; 2], mut write: impl FnMut(&[u8], &mut [u8])) {
        let [channels, height, width] = self.shape;
        let [new_height, new_width] = size;
        self.spare.resize(channels * new_height * new_width, 0);
        let new = self.spare.chunks_exact_mut(new_height * new_width);
        for (old, new) in self.pixels.chunks_exact(height * width).zip(new) {
            write(old, new);
        }
        std::mem::swap(&mut self.pixels, &mut self.spare);
        self.shape = [channels, new_height, new_width];
    }
}
