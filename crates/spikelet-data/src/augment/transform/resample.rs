//! Bilinear resampling with antialiasing, as Pillow's `resize`.

use std::cell::RefCell;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x3};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};

use crate::augment::image::Image;
use crate::error::Result;
use crate::image_error::ImageError;

/// The buffers of a thread.
#[derive(Default)]
struct Scratch {
    resizer: Resizer,
    crop: Vec<u8>,
    resized: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Replaces `image` by its rectangle of `size` with the upper left corner in row and column `corner`, resampled to
/// `new`. The rectangle lies in the image, and no size is 0.
pub(super) fn resample(
    image: &mut Image,
    corner: [usize; 2],
    size: [usize; 2],
    new: [usize; 2],
) -> Result<()> {
    let [channels, ..] = image.shape();
    SCRATCH.with_borrow_mut(|scratch| {
        // The colors of a pixel are resampled together: interleaved, that is several times faster than three planes.
        if channels == 3 {
            interleave(image, corner, size, &mut scratch.crop);
            resize::<U8x3>(scratch, size, new)?;
            image.replace(new, |planes| {
                let [red, green, blue] = thirds(planes);
                let pixels = scratch.resized.as_chunks::<3>().0;
                for (((&[r, g, b], red), green), blue) in
                    pixels.iter().zip(red).zip(green).zip(blue)
                {
                    [*red, *green, *blue] = [r, g, b];
                }
            });
            return Ok(());
        }
        let mut planes = Vec::with_capacity(channels * new[0] * new[1]);
        for channel in 0..channels {
            scratch.crop.clear();
            for row in rows(image, channel, corner, size) {
                scratch.crop.extend_from_slice(row);
            }
            resize::<U8>(scratch, size, new)?;
            planes.extend_from_slice(&scratch.resized);
        }
        image.replace(new, |new| new.copy_from_slice(&planes));
        Ok(())
    })
}

/// The rows of a rectangle of a channel.
fn rows(
    image: &Image,
    channel: usize,
    [top, left]: [usize; 2],
    [height, width]: [usize; 2],
) -> impl Iterator<Item = &[u8]> {
    let [_, image_height, image_width] = image.shape();
    let plane = &image.pixels()[channel * image_height * image_width..];
    let rows = plane.chunks_exact(image_width).skip(top).take(height);
    rows.map(move |row| &row[left..left + width])
}

/// Writes a rectangle of an image of three channels pixel by pixel.
fn interleave(image: &Image, corner: [usize; 2], size: [usize; 2], out: &mut Vec<u8>) {
    let [height, width] = size;
    out.resize(3 * height * width, 0);
    let [red, green, blue] = [0, 1, 2].map(|channel| rows(image, channel, corner, size));
    for (((out, red), green), blue) in out
        .chunks_exact_mut(3 * width)
        .zip(red)
        .zip(green)
        .zip(blue)
    {
        let pixels = out.as_chunks_mut::<3>().0;
        for (((pixel, &r), &g), &b) in pixels.iter_mut().zip(red).zip(green).zip(blue) {
            *pixel = [r, g, b];
        }
    }
}

fn thirds(planes: &mut [u8]) -> [&mut [u8]; 3] {
    let third = planes.len() / 3;
    let (red, rest) = planes.split_at_mut(third);
    let (green, blue) = rest.split_at_mut(third);
    [red, green, blue]
}

/// Resamples `crop` of `size` to `resized` of `new`. The pixel type is known at compile time: the code for the others, 3 MB,
/// is not linked.
fn resize<P: PixelTrait>(scratch: &mut Scratch, size: [usize; 2], new: [usize; 2]) -> Result<()> {
    let Scratch {
        resizer,
        crop,
        resized,
    } = scratch;
    resized.resize(new[0] * new[1] * P::size(), 0);
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
    let mut run = || -> Result<(), String> {
        let source = TypedImageRef::<P>::from_buffer(size[1] as u32, size[0] as u32, crop);
        let source = source.map_err(|error| error.to_string())?;
        let target = TypedImage::<P>::from_buffer(new[1] as u32, new[0] as u32, resized);
        let mut target = target.map_err(|error| error.to_string())?;
        let resized = resizer.resize_typed(&source, &mut target, &options);
        resized.map_err(|error| error.to_string())
    };
    run().map_err(|problem| ImageError::Resize { size, new, problem }.into())
}
