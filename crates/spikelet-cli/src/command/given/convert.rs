//! Conversion of images to a network's shape.

use super::array::ArrayImages;
use crate::failure::Failure;
use spikelet::data::{
    CenterCrop, Colors, DecodeError, DecodeLimits, Image, ImageTransform, Resize, SampleRandom,
    decode_image,
};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// An image or a sequence in the network's shape.
pub struct Input {
    pub path: PathBuf,
    /// The index of the image in an array of several.
    pub index: Option<usize>,
    /// The time steps of a sequence.
    pub steps: Option<usize>,
    /// Channels, height and width of an image before the conversion; the sizes of a time step of a sequence.
    pub original: Vec<usize>,
    /// `[channels, height, width]` of the network; empty for a sequence.
    pub pixels: Vec<u8>,
    /// The values of all time steps; empty for an image.
    pub sequence: Vec<f32>,
    /// The mean of the pixels.
    pub mean: u8,
    /// The steps of the conversion, in words.
    pub conversions: Vec<String>,
}

impl Input {
    /// The path, with the index in an array of several images.
    pub fn name(&self) -> String {
        match self.index {
            None => self.path.display().to_string(),
            Some(index) => format!("{}[{index}]", self.path.display()),
        }
    }
}

/// Converts images to a shape.
pub struct Converter {
    /// Channels, height and width of the network.
    pub shape: [usize; 3],
    /// Whether pixels are inverted.
    pub invert: bool,
}

/// The first bytes of an `.npy` file.
const NPY: &[u8] = b"\x93NUMPY";

impl Converter {
    /// The converted images of a file, which are read one after the other.
    ///
    /// # Errors
    /// When the file cannot be read, has another format, or is damaged. An iteration fails when an image
    /// does not fit.
    pub fn open<'a>(
        &'a self,
        path: &'a Path,
    ) -> Result<Box<dyn Iterator<Item = Result<Input, Failure>> + 'a>, Failure> {
        let limits = DecodeLimits::default();
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(path)?;
            let mut bytes = vec![];
            file.by_ref()
                .take(NPY.len() as u64)
                .read_to_end(&mut bytes)?;
            if bytes != NPY {
                let rest = limits.max_file_bytes;
                file.take(rest).read_to_end(&mut bytes)?;
            }
            Ok(bytes)
        };
        let bytes = read().map_err(|error| {
            Failure::other(
                format!("{}: {error}", path.display()),
                "name PNG, JPEG or .npy files, or folders of them",
            )
        })?;
        if bytes == NPY {
            let array = ArrayImages::open(path, self.shape[0])?;
            return Ok(Box::new((0..array.len()).map(move |index| {
                let (image, conversion) = array.image(path, index)?;
                let index = array.several().then_some(index);
                self.convert(path, index, image, conversion.into_iter().collect())
            })));
        }
        let image = decode(&bytes, &limits).map_err(|problem| {
            let help = match problem {
                DecodeError::Format => {
                    "name a PNG, JPEG or .npy file; the content counts, not the ending of the name"
                }
                DecodeError::TooLarge { .. } => "make the picture smaller",
                _ => "the file is damaged: copy, download or save it again",
            };
            Failure::other(format!("{}: {problem}", path.display()), help)
        })?;
        let input = self.convert(path, None, image, vec![]);
        Ok(Box::new(std::iter::once(input)))
    }

    fn convert(
        &self,
        path: &Path,
        index: Option<usize>,
        image: Image,
        mut conversions: Vec<String>,
    ) -> Result<Input, Failure> {
        let original = image.shape();
        let [channels, height, width] = self.shape;
        let mut image = match (original[0], channels) {
            (given, needed) if given == needed => image,
            (3, 1) => {
                conversions.push("converted to grayscale".to_string());
                gray(image)?
            }
            (1, 3) => {
                conversions.push("grayscale in three channels".to_string());
                let [_, height, width] = original;
                Image::new(image.pixels().repeat(3), [3, height, width])
                    .map_err(spikelet::Error::from)?
            }
            (given, needed) => {
                return Err(Failure::other(
                    format!(
                        "{}: an image with {given} channels, the network takes {needed}",
                        path.display()
                    ),
                    "give an array with the network's channels, [C, H, W]",
                ));
            }
        };
        self.fit([height, width], path, &mut image, &mut conversions)?;
        if self.invert {
            let pixels = image.pixels_mut().iter_mut();
            pixels.for_each(|pixel| *pixel = 255 - *pixel);
            conversions.push("inverted".to_string());
        }
        let pixels = image.into_pixels();
        let sum: u64 = pixels.iter().map(|&pixel| u64::from(pixel)).sum();
        Ok(Input {
            path: path.to_path_buf(),
            index,
            steps: None,
            original: original.to_vec(),
            sequence: vec![],
            mean: (sum / pixels.len() as u64) as u8,
            pixels,
            conversions,
        })
    }

    /// Resizes an image to cover the network's height and width, and crops it at the center.
    fn fit(
        &self,
        size: [usize; 2],
        path: &Path,
        image: &mut Image,
        conversions: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let [_, height, width] = image.shape();
        let text = |[height, width]: [usize; 2]| format!("{height} × {width}");
        let covering = covering([height, width], size);
        if covering[0].saturating_mul(covering[1]) > DecodeLimits::default().max_pixels {
            return Err(Failure::other(
                format!(
                    "{}: height × width {}, too narrow to be resized to cover {}",
                    path.display(),
                    text([height, width]),
                    text(size)
                ),
                "crop the image to about the network's aspect ratio",
            ));
        }
        let mut random = SampleRandom::of_sample(0, 0, 0);
        if covering != [height, width] {
            let (from, to) = (text([height, width]), text(covering));
            conversions.push(format!("resized from height × width {from} to {to}"));
            Resize::to(covering)
                .augment(image, &mut random)
                .map_err(spikelet::Error::from)?;
        }
        if covering != size {
            conversions.push(format!("cropped at the center to {}", text(size)));
            CenterCrop { size }
                .augment(image, &mut random)
                .map_err(spikelet::Error::from)?;
        }
        Ok(())
    }
}

/// The smallest size with the aspect ratio of `image`, up to rounding, that covers `size`.
fn covering(image: [usize; 2], size: [usize; 2]) -> [usize; 2] {
    let scale = |axis: usize| size[axis] as f64 / image[axis] as f64;
    let scale = scale(0).max(scale(1));
    [0, 1].map(|axis| ((image[axis] as f64 * scale).round() as usize).max(size[axis]))
}

/// Decodes a picture: one channel if all its colors are gray, or else three.
fn decode(file: &[u8], limits: &DecodeLimits) -> Result<Image, DecodeError> {
    let image = decode_image(file, Colors::Rgb, limits)?;
    let [_, height, width] = image.shape();
    let mut planes = image.pixels().chunks_exact(height * width);
    let first = planes.next().unwrap_or_default();
    if !planes.all(|plane| plane == first) {
        return Ok(image);
    }
    let gray = Image::new(first.to_vec(), [1, height, width]);
    gray.map_err(|error| DecodeError::Damaged(error.to_string()))
}

/// The brightness of a color image.
fn gray(image: Image) -> Result<Image, Failure> {
    let [_, height, width] = image.shape();
    let len = height * width;
    let pixels = image.into_pixels();
    let (red, rest) = pixels.split_at(len);
    let (green, blue) = rest.split_at(len);
    let colors = red.iter().zip(green).zip(blue);
    let gray = colors.map(|((red, green), blue)| {
        // 0.299 R + 0.587 G + 0.114 B, in Pillow's fixed point.
        let sum = u32::from(*red) * 19595 + u32::from(*green) * 38470 + u32::from(*blue) * 7471;
        ((sum + 0x8000) >> 16) as u8
    });
    Ok(Image::new(gray.collect(), [1, height, width]).map_err(spikelet::Error::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_covering_size_keeps_the_aspect_ratio_and_covers_both_sides() {
        for (image, size, expected) in [
            ([28, 28], [28, 28], [28, 28]),
            ([56, 56], [28, 28], [28, 28]),
            ([480, 640], [32, 32], [32, 43]),
            ([640, 480], [32, 32], [43, 32]),
            ([3, 1000], [28, 28], [28, 9333]),
            ([1, 1], [28, 20], [28, 28]),
        ] {
            assert_eq!(covering(image, size), expected, "{image:?}");
        }
    }

    #[test]
    fn a_converted_image_names_each_step() {
        let converter = Converter {
            shape: [1, 2, 2],
            invert: true,
        };
        let red: Vec<u8> = [[255; 8], [0; 8], [0; 8]].concat();
        let image = Image::new(red, [3, 2, 4]).expect("an image");
        let input = converter.convert(Path::new("red.png"), None, image, vec![]);
        let input = input.expect("it fits");
        assert_eq!(input.pixels, [255 - 76; 4]);
        assert_eq!(input.mean, 255 - 76);
        assert_eq!(input.original, [3, 2, 4]);
        let steps = [
            "converted to grayscale",
            "cropped at the center to 2 × 2",
            "inverted",
        ];
        assert_eq!(input.conversions, steps);
    }
}
