//! Contrast: blending with the mean gray, and stretching the range of each channel.

use std::array;

use super::color::luma;
use super::equalize::histogram;
use super::lookup::{Table, blend_with, look_up};
use crate::augment::image::Image;

/// Blends with the mean of the grayscale image, rounded to a byte.
pub(super) fn contrast(image: &mut Image, factor: f32) {
    let mean = mean_luma(image);
    blend_with(image, mean, factor);
}

/// The mean of the grayscale image; for other than three channels the mean of all bytes.
fn mean_luma(image: &mut Image) -> u8 {
    let (sum, count) = match image.colors_mut() {
        Some([red, green, blue]) => {
            let count = red.len();
            let colors = red.iter().zip(green.iter()).zip(blue.iter());
            let luma = colors.map(|((&r, &g), &b)| u64::from(luma(r, g, b)));
            (luma.sum::<u64>(), count)
        }
        None => {
            let pixels = image.pixels();
            (pixels.iter().map(|&p| u64::from(p)).sum(), pixels.len())
        }
    };
    (sum as f64 / count as f64 + 0.5) as u8
}

/// Stretches each channel, so that its darkest pixel is 0 and its brightest 255.
pub(super) fn auto_contrast(image: &mut Image) {
    for plane in image.planes_mut() {
        let counts = histogram(plane);
        let darkest = counts.iter().position(|&count| count > 0);
        let brightest = counts.iter().rposition(|&count| count > 0);
        let (Some(darkest), Some(brightest)) = (darkest, brightest) else {
            continue;
        };
        if brightest > darkest {
            let scale = 255.0 / (brightest - darkest) as f64;
            let offset = -(darkest as f64) * scale;
            // The conversion saturates at 0 and 255.
            let table: Table = array::from_fn(|byte| (byte as f64 * scale + offset) as u8);
            look_up(plane, &table);
        }
    }
}
