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
        new.copy_from_slice(old);
        vectorized(
            (old, new, width, factor),
            #[inline(always)]
            |(old, new, width, factor)| {
                let rows = new.chunks_exact_mut(width).skip(1);
                for (three, new) in old.windows(3 * width).step_by(width).zip(rows) {
                    row(three, &mut new[1..width - 1], factor);
                }
            },
        );
    });
}

/// One row without its first and last pixel, from the complete rows above it, at it and below it.
#[inline(always)]
fn row(three: &[u8], new: &mut [u8], factor: f32) {
    let (len, width) = (new.len(), new.len() + 2);
    let (above, rest) = three.split_at(width);
    let (here, below) = rest.split_at(width);
    let [a, b, c] = [&above[..len], &above[1..=len], &above[2..len + 2]];
    let [d, e, f] = [&here[..len], &here[1..=len], &here[2..len + 2]];
    let [g, h, i] = [&below[..len], &below[1..=len], &below[2..len + 2]];
    for k in 0..len {
        let sum = i32::from(a[k]) + i32::from(b[k]) + i32::from(c[k]);
        let sum = sum + i32::from(d[k]) + 5 * i32::from(e[k]) + i32::from(f[k]);
        let sum = sum + i32::from(g[k]) + i32::from(h[k]) + i32::from(i[k]);
        // (2 · sum + 13) / 26, the nearest integer to sum / 13; 13 is odd, so there is no tie. The product is exact
        // for sums up to 13 · 255.
        let smooth = ((2 * sum + 13) * 20_165) >> 19;
        new[k] = blend(smooth, i32::from(e[k]), factor);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_multiplication_divides_exactly() {
        for sum in 0..=13 * 255 {
            assert_eq!(((2 * sum + 13) * 20_165) >> 19, (2 * sum + 13) / 26);
        }
    }
}
