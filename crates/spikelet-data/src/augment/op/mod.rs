//! The operations from which augmentation policies are made, with the results of Pillow.
//!
//! Every operation gives the bytes of torchvision's function on a PIL image. Warped pixels take their nearest
//! neighbor.

mod color;
mod contrast;
mod equalize;
mod hue;
mod lookup;
mod sharpness;
mod warp;

#[cfg(feature = "images")]
pub(crate) use color::luma;

use super::image::Image;

/// One operation on an 8-bit image, with its strength.
///
/// | operation | unit | |
/// |---|---|---|
/// | `Identity` | | no change |
/// | `Invert` | | 255 − pixel |
/// | `AutoContrast` | | the darkest pixel of each channel becomes 0, the brightest 255 |
/// | `Equalize` | | equalizes the histogram of each channel |
/// | `Posterize(bits)` | bits | keeps the highest bits |
/// | `Solarize(threshold)` | 0 to 256 | inverts pixels from the threshold on |
/// | `SolarizeAdd(added)` | 0 to 255 | adds to pixels below 128 |
/// | `Brightness(factor)` | | 0 is black, 1 no change |
/// | `Contrast(factor)` | | 0 is a gray image, 1 no change |
/// | `Color(factor)` | | saturation: 0 is grayscale, 1 no change |
/// | `Sharpness(factor)` | | 0 is smoothed, 1 no change |
/// | `Hue(turn)` | turns | shifts the hue, −0.5 to 0.5 |
/// | `ShearX(slope)`, `ShearY(slope)` | | shear that leaves the upper left corner in place |
/// | `TranslateX(pixels)`, `TranslateY(pixels)` | pixels | right and down |
/// | `Rotate(degrees)` | degrees | counterclockwise around the center |
///
/// `Color` and `Hue` change images of three channels only. Strengths outside their range are clamped.
///
/// ```
/// use spikelet_data::{Image, ImageOp};
///
/// let mut image = Image::new(vec![0, 100, 200, 255], [1, 2, 2])?;
/// ImageOp::Invert.apply(&mut image, 0);
/// assert_eq!(image.pixels(), [255, 155, 55, 0]);
/// ImageOp::TranslateX(1).apply(&mut image, 128);
/// assert_eq!(image.pixels(), [128, 255, 128, 55]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ImageOp {
    /// No change.
    Identity,
    /// Inverts every channel.
    Invert,
    /// Stretches the range of each channel to 0 … 255.
    AutoContrast,
    /// Equalizes the histogram of each channel.
    Equalize,
    /// Keeps the highest bits of each byte.
    Posterize(u32),
    /// Inverts pixels that are not below the threshold.
    Solarize(f32),
    /// Adds to pixels below 128, up to 255.
    SolarizeAdd(u8),
    /// Multiplies every channel.
    Brightness(f32),
    /// Blends with the mean gray.
    Contrast(f32),
    /// Blends with the grayscale image.
    Color(f32),
    /// Blends with the smoothed image.
    Sharpness(f32),
    /// Shifts the hue.
    Hue(f32),
    /// Shears rows.
    ShearX(f32),
    /// Shears columns.
    ShearY(f32),
    /// Moves the image to the right.
    TranslateX(i32),
    /// Moves the image down.
    TranslateY(i32),
    /// Rotates the image.
    Rotate(f32),
}

impl ImageOp {
    /// Changes `image`. Pixels from outside the image have the value `fill` in every channel.
    pub fn apply(self, image: &mut Image, fill: u8) {
        match self {
            Self::Identity => {}
            Self::Invert => lookup::invert(image),
            Self::AutoContrast => contrast::auto_contrast(image),
            Self::Equalize => equalize::equalize(image),
            Self::Posterize(bits) => lookup::posterize(image, bits),
            Self::Solarize(threshold) => lookup::solarize(image, threshold),
            Self::SolarizeAdd(added) => lookup::solarize_add(image, added),
            Self::Brightness(factor) => lookup::brightness(image, factor),
            Self::Contrast(factor) => contrast::contrast(image, factor),
            Self::Color(factor) => color::saturation(image, factor),
            Self::Sharpness(factor) => sharpness::sharpness(image, factor),
            Self::Hue(turn) => hue::shift(image, turn),
            Self::ShearX(slope) => warp::shear_x(image, slope, fill),
            Self::ShearY(slope) => warp::shear_y(image, slope, fill),
            Self::TranslateX(pixels) => warp::translate(image, [pixels, 0], fill),
            Self::TranslateY(pixels) => warp::translate(image, [0, pixels], fill),
            Self::Rotate(degrees) => warp::rotate(image, degrees, fill),
        }
    }
}

/// From `from` (factor 0) to `to` (factor 1) and beyond, as Pillow's `Image.blend`.
#[inline(always)]
fn blend(from: i32, to: i32, factor: f32) -> u8 {
    // The conversion saturates: below 0 is 0, above 255 is 255.
    (from as f32 + factor * (to - from) as f32) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All operations, without change where they have a strength.
    #[test]
    fn the_neutral_strength_changes_nothing() {
        let pixels: Vec<u8> = (0..3 * 5 * 7).map(|k| (k * 41 % 256) as u8).collect();
        for op in [
            ImageOp::Identity,
            ImageOp::Posterize(8),
            ImageOp::Solarize(256.0),
            ImageOp::SolarizeAdd(0),
            ImageOp::Brightness(1.0),
            ImageOp::Contrast(1.0),
            ImageOp::Color(1.0),
            ImageOp::Sharpness(1.0),
            ImageOp::ShearX(0.0),
            ImageOp::ShearY(0.0),
            ImageOp::TranslateX(0),
            ImageOp::TranslateY(0),
            ImageOp::Rotate(0.0),
        ] {
            let mut image = Image::new(pixels.clone(), [3, 5, 7]).unwrap();
            op.apply(&mut image, 9);
            assert_eq!(image.pixels(), pixels, "{op:?}");
        }
    }

    #[test]
    fn strengths_out_of_range_do_not_panic() {
        let shapes = [[1, 1, 1], [2, 3, 2], [3, 1, 4], [3, 4, 1], [4, 5, 5]];
        let numbers = [0.0, -1e30, 1e30, f32::NAN, f32::INFINITY];
        for shape in shapes {
            for number in numbers {
                for op in [
                    ImageOp::AutoContrast,
                    ImageOp::Equalize,
                    ImageOp::Posterize(number as u32),
                    ImageOp::Solarize(number),
                    ImageOp::Brightness(number),
                    ImageOp::Contrast(number),
                    ImageOp::Color(number),
                    ImageOp::Sharpness(number),
                    ImageOp::Hue(number),
                    ImageOp::ShearX(number),
                    ImageOp::ShearY(number),
                    ImageOp::TranslateX(number as i32),
                    ImageOp::TranslateY(number as i32),
                    ImageOp::Rotate(number),
                ] {
                    let mut image = Image::black(shape);
                    image.pixels_mut()[0] = 200;
                    op.apply(&mut image, 9);
                    assert_eq!(image.shape(), shape);
                }
            }
        }
    }
}
