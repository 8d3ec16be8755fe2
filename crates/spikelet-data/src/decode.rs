//! Decoding of PNG and JPEG files.

use std::io::Cursor;

use png::{ColorType, Limits, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::augment::Image;
use crate::augment::luma;
use crate::decode_error::DecodeError;

/// The channels of decoded images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colors {
    /// Red, green and blue.
    #[default]
    Rgb,
    /// Grayscale.
    Gray,
}

impl Colors {
    /// The number of channels.
    #[must_use]
    pub fn channels(self) -> usize {
        match self {
            Self::Rgb => 3,
            Self::Gray => 1,
        }
    }
}

/// The largest images that are decoded: a damaged or hostile file cannot fill the memory.
///
/// | field | default |
/// |---|---|
/// | `max_side` | 16,384 pixels |
/// | `max_pixels` | 2²⁶ pixels, 192 MiB in RGB |
/// | `max_file_bytes` | 2²⁷ bytes |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// The largest height and width.
    pub max_side: usize,
    /// The largest product of height and width.
    pub max_pixels: usize,
    /// The largest length of a file.
    pub max_file_bytes: u64,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            max_side: 1 << 14,
            max_pixels: 1 << 26,
            max_file_bytes: 1 << 27,
        }
    }
}

/// Decodes a PNG or JPEG file by its content; its name does not matter. Transparent pixels are laid on white. The
/// orientation in Exif data is ignored, as in torchvision.
///
/// ```
/// use spikelet_data::{Colors, DecodeError, DecodeLimits, decode_image};
///
/// let error = decode_image(b"GIF89a", Colors::Rgb, &DecodeLimits::default()).unwrap_err();
/// assert_eq!(error, DecodeError::Format);
/// ```
///
/// # Errors
/// If the file is damaged, of another format, or larger than the limits.
pub fn decode_image(
    file: &[u8],
    colors: Colors,
    limits: &DecodeLimits,
) -> Result<Image, DecodeError> {
    check_limit(file.len() as u64, limits.max_file_bytes, "bytes")?;
    match file {
        [0xff, 0xd8, 0xff, ..] => decode_jpeg(file, colors, limits),
        [0x89, b'P', b'N', b'G', ..] => decode_png(file, colors, limits),
        _ => Err(DecodeError::Format),
    }
}

fn decode_jpeg(file: &[u8], colors: Colors, limits: &DecodeLimits) -> Result<Image, DecodeError> {
    let damaged = |error| DecodeError::Damaged(format!("{error:?}"));
    let space = match colors {
        Colors::Rgb => ColorSpace::RGB,
        Colors::Gray => ColorSpace::Luma,
    };
    let options = DecoderOptions::default()
        .set_max_width(limits.max_side)
        .set_max_height(limits.max_side)
        .jpeg_set_out_colorspace(space);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(damaged)?;
    let (width, height) = decoder.dimensions().ok_or(DecodeError::Truncated)?;
    check_size(height, width, limits)?;
    if matches!(
        decoder.input_colorspace(),
        Some(ColorSpace::CMYK | ColorSpace::YCCK)
    ) {
        // The decoder does not convert these to grayscale.
        let options = options.jpeg_set_out_colorspace(ColorSpace::RGB);
        decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    }
    // The decoder fills the rest of a truncated image with gray.
    if !has_end(file) {
        return Err(DecodeError::Truncated);
    }
    let pixels = decoder.decode().map_err(damaged)?;
    // A grayscale file has one channel in spite of the options.
    let channels = pixels.len() / (height * width);
    to_image(&pixels, channels, height, width, colors)
}

/// Whether the last scan of a JPEG file is followed by the end marker. Within a scan neither marker occurs.
fn has_end(file: &[u8]) -> bool {
    // Almost every file ends with it.
    if file.ends_with(&[0xff, 0xd9]) {
        return true;
    }
    let last = |marker: [u8; 2]| file.windows(2).rposition(|pair| pair == marker);
    last([0xff, 0xd9]) > last([0xff, 0xda])
}

fn decode_png(file: &[u8], colors: Colors, limits: &DecodeLimits) -> Result<Image, DecodeError> {
    let damaged = |error: png::DecodingError| DecodeError::Damaged(error.to_string());
    // Up to four channels of 16 bits, and the rows that the decoder holds.
    let bytes = limits.max_pixels.saturating_mul(8).saturating_add(1 << 20);
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), Limits { bytes });
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    // Texts and color profiles are not used, and may be large once decompressed.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(damaged)?;
    let info = reader.info();
    let (width, height) = (info.width as usize, info.height as usize);
    check_size(height, width, limits)?;
    let len = reader.output_buffer_size();
    let mut pixels = vec![0; len.ok_or_else(|| DecodeError::Damaged("too large".into()))?];
    let frame = reader.next_frame(&mut pixels).map_err(damaged)?;
    // The checks of the last chunks.
    reader.finish().map_err(damaged)?;
    pixels.truncate(frame.buffer_size());
    let channels = match frame.color_type {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
        ColorType::Indexed => return Err(DecodeError::Damaged("an index without colors".into())),
    };
    match channels {
        2 => lay_on_white(pixels.as_chunks_mut::<2>().0),
        4 => lay_on_white(pixels.as_chunks_mut::<4>().0),
        _ => {}
    }
    to_image(&pixels, channels, height, width, colors)
}

/// Blends each pixel, whose last channel is its opacity, with white: most programs show a transparent picture on a
/// light background, and the colors of invisible pixels are arbitrary.
fn lay_on_white<const N: usize>(pixels: &mut [[u8; N]]) {
    for pixel in pixels {
        let [colors @ .., opacity] = &mut pixel[..] else {
            return;
        };
        let opacity = u32::from(*opacity);
        for color in colors {
            let blended = u32::from(*color) * opacity + 255 * (255 - opacity);
            *color = ((blended + 127) / 255) as u8;
        }
    }
}

fn check_size(height: usize, width: usize, limits: &DecodeLimits) -> Result<(), DecodeError> {
    let (side, most) = (height.max(width) as u64, limits.max_side as u64);
    check_limit(side, most, "pixels in one row or column")?;
    let pixels = height as u64 * width as u64;
    check_limit(pixels, limits.max_pixels as u64, "pixels")
}

fn check_limit(found: u64, limit: u64, unit: &'static str) -> Result<(), DecodeError> {
    if found <= limit {
        return Ok(());
    }
    Err(DecodeError::TooLarge { found, limit, unit })
}

/// From `channels` bytes a pixel to planes.
fn to_image(
    pixels: &[u8],
    channels: usize,
    height: usize,
    width: usize,
    colors: Colors,
) -> Result<Image, DecodeError> {
    let len = height * width;
    if len == 0 || channels == 0 || pixels.len() != len * channels {
        return Err(DecodeError::Damaged("its size is contradictory".into()));
    }
    let mut planes = vec![0; len * colors.channels()];
    match (colors, channels) {
        (Colors::Rgb, 3) => split(pixels.as_chunks::<3>().0, &mut planes),
        (Colors::Rgb, 4..) => split(pixels.as_chunks::<4>().0, &mut planes),
        (Colors::Rgb, _) => {
            let (first, others) = planes.split_at_mut(len);
            for (out, pixel) in first.iter_mut().zip(pixels.chunks_exact(channels)) {
                *out = pixel[0];
            }
            for plane in others.chunks_exact_mut(len) {
                plane.copy_from_slice(first);
            }
        }
        (Colors::Gray, _) => {
            for (out, pixel) in planes.iter_mut().zip(pixels.chunks_exact(channels)) {
                *out = match *pixel {
                    [red, green, blue, ..] => luma(red, green, blue),
                    _ => pixel[0],
                };
            }
        }
    }
    let shape = [colors.channels(), height, width];
    Image::new(planes, shape).map_err(|error| DecodeError::Damaged(error.to_string()))
}

/// The first three bytes of each pixel to three planes.
fn split<const N: usize>(pixels: &[[u8; N]], planes: &mut [u8]) {
    let (red, rest) = planes.split_at_mut(pixels.len());
    let (green, blue) = rest.split_at_mut(pixels.len());
    for (((pixel, red), green), blue) in pixels.iter().zip(red).zip(green).zip(blue) {
        [*red, *green, *blue] = [pixel[0], pixel[1], pixel[2]];
    }
}
