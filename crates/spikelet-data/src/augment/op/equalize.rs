//! Equalization of the histogram of each channel, as Pillow's `ImageOps.equalize`.

use super::lookup::{Table, look_up};
use crate::augment::image::Image;

pub(super) fn equalize(image: &mut Image) {
    for plane in image.planes_mut() {
        let counts = histogram(plane);
        let brightest = counts.iter().rfind(|&&count| count > 0);
        let step = (plane.len() - brightest.map_or(0, |&count| count as usize)) / 255;
        if step == 0 {
            continue;
        }
        let mut below = step / 2;
        let mut table: Table = [0; 256];
        for (value, &count) in table.iter_mut().zip(&counts) {
            *value = (below / step).min(255) as u8;
            below += count as usize;
        }
        look_up(plane, &table);
    }
}

/// How often each byte occurs.
pub(super) fn histogram(plane: &[u8]) -> [u32; 256] {
    // Two histograms, so that equal neighbors do not wait for each other.
    let mut counts = [[0_u32; 256]; 2];
    for pair in plane.chunks(2) {
        for (counts, &pixel) in counts.iter_mut().zip(pair) {
            counts[usize::from(pixel)] += 1;
        }
    }
    let [mut sums, second] = counts;
    for (sum, second) in sums.iter_mut().zip(second) {
        *sum += second;
    }
    sums
}
