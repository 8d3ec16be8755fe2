//! A random crop after padding with black pixels.

use std::ops::Range;

use super::{Draws, Purpose};

/// The x and y of the upper left corner of the crop in the image, from −`padding` to `padding`.
pub(super) fn draw(draws: &Draws, padding: usize) -> [isize; 2] {
    let places = padding.saturating_mul(2).saturating_add(1);
    [Purpose::CropX, Purpose::CropY]
        .map(|purpose| draws.below(purpose, places) as isize - padding as isize)
}

/// Writes the pixels of one channel to `out`, beginning at `corner` and mirrored if `flipped`, with the values
/// of `table`. Pixels outside the image have the value 0.
pub(super) fn place<T: Copy>(
    plane: &[u8],
    width: usize,
    [x, y]: [isize; 2],
    flipped: bool,
    table: &[T; 256],
    out: &mut [T],
) {
    let height = plane.len() / width;
    let inside = columns(x, width);
    for (row, out) in out.chunks_exact_mut(width).enumerate() {
        let from = row
            .checked_add_signed(y)
            .filter(|&from| from < height && !inside.is_empty());
        let Some(from) = from else {
            out.fill(table[0]);
            continue;
        };
        let start = inside.start.wrapping_add_signed(x);
        let pixels = &plane[from * width + start..][..inside.len()];
        if flipped {
            let inside = width - inside.end..width - inside.start;
            let mirrored = pixels.iter().rev();
            write(out, inside, mirrored, table);
        } else {
            write(out, inside.clone(), pixels.iter(), table);
        }
    }
}

/// The columns of the crop that lie in the image if the first one is the image's column `x`.
fn columns(x: isize, width: usize) -> Range<usize> {
    let before = x.min(0).unsigned_abs().min(width);
    let behind = x.max(0).unsigned_abs().min(width);
    before..(width - behind).max(before)
}

#[inline(always)]
fn write<'a, T: Copy>(
    out: &mut [T],
    inside: Range<usize>,
    pixels: impl Iterator<Item = &'a u8>,
    table: &[T; 256],
) {
    out[..inside.start].fill(table[0]);
    out[inside.end..].fill(table[0]);
    for (out, &pixel) in out[inside].iter_mut().zip(pixels) {
        *out = table[usize::from(pixel)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::pipeline::shades;

    /// Two rows of three pixels.
    const PLANE: [u8; 6] = [10, 20, 30, 40, 50, 60];

    fn placed(corner: [isize; 2], flipped: bool) -> [u8; 6] {
        let mut out = [0.5; 6];
        place(&PLANE, 3, corner, flipped, &shades(), &mut out);
        out.map(|value| (value * 255.0) as u8)
    }

    #[test]
    fn a_crop_moves_the_pixels_and_is_black_outside_the_image() {
        assert_eq!(placed([0, 0], false), PLANE);
        assert_eq!(placed([1, 0], false), [20, 30, 0, 50, 60, 0]);
        assert_eq!(placed([-2, 0], false), [0, 0, 10, 0, 0, 40]);
        assert_eq!(placed([0, -1], false), [0, 0, 0, 10, 20, 30]);
        assert_eq!(placed([-1, 1], false), [0, 40, 50, 0, 0, 0]);
        for far in [[3, 0], [-3, 0], [0, 2], [0, -2], [isize::MAX, isize::MIN]] {
            assert_eq!(placed(far, false), [0; 6]);
        }
    }

    #[test]
    fn a_mirrored_crop_is_the_crop_mirrored() {
        for x in -4..=4 {
            for y in -3..=3 {
                let [a, b, c, d, e, f] = placed([x, y], false);
                assert_eq!(placed([x, y], true), [c, b, a, f, e, d]);
            }
        }
    }

    #[test]
    fn every_place_within_the_padding_is_drawn_about_equally_often() {
        let mut counts = [[0_u32; 5]; 2];
        for image in 0..5_000 {
            for (axis, at) in draw(&Draws::new(3, 1, image), 2).into_iter().enumerate() {
                counts[axis][(at + 2) as usize] += 1;
            }
        }
        let even = |count: &u32| count.abs_diff(1_000) < 120;
        assert!(counts.as_flattened().iter().all(even), "{counts:?}");
    }
}
