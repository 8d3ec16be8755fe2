//! Sharpness: blending with the smoothed image.

use spikelet_expr::vectorized;

use super::blend;
use crate::augment::image::Image;

/// Blends with the image smoothed by 1/13 · (1 1 1; 1 5 1; 1 1 1). Pixels at the edges do not change.
pub(super) fn sharpness(image: &mut Image, factor: f32) {
    let [_, height, width] = image.shape();
    if height < 3 || width < 3 {
        return;
    }
    image.map_planes([height, width], |old, new| {
        new[..width].copy_from_slice(&old[..width]);
        let last = (height - 1) * width;
        new[last..].copy_from_slice(&old[last..]);
        for y in 1..height - 1 {
            let [above, here, below] = [y - 1, y, y + 1].map(|y| &old[y * width..][..width]);
            let new = &mut new[y * width..][..width];
            new[0] = here[0];
            new[width - 1] = here[width - 1];
            let new = &mut new[1..width - 1];
            vectorized(
                ((above, here, below), new, factor),
                #[inline(always)]
                |(rows, new, factor)| row(rows, new, factor),
            );
        }
    });
}

/// One row without its first and last pixel.
#[inline(always)]
fn row((above, here, below): (&[u8], &[u8], &[u8]), new: &mut [u8], factor: f32) {
    let len = new.len();
    let [a0, a1, a2] = [&above[..len], &above[1..=len], &above[2..len + 2]];
    let [h0, h1, h2] = [&here[..len], &here[1..=len], &here[2..len + 2]];
    let [b0, b1, b2] = [&below[..len], &below[1..=len], &below[2..len + 2]];
    for k in 0..len {
        let around = [a0, a1, a2, h0, h2, b0, b1, b2].map(
            #[inline(always)]
            |row| u16::from(row[k]),
        );
        let sum = around.iter().sum::<u16>() + 5 * u16::from(h1[k]);
        // The nearest integer to sum / 13; 13 is odd, so there is no tie.
        let smooth = (2 * sum + 13) / 26;
        new[k] = blend(i32::from(smooth), i32::from(h1[k]), factor);
    }
}
