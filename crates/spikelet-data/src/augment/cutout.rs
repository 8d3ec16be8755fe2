//! Cutout: a square that is set to 0.
//!
//! Source: T. DeVries, G. Taylor, *Improved regularization of convolutional neural networks with
//! cutout*, arXiv:1708.04552 (2017).

use std::ops::Range;

use super::{Draws, Purpose};

/// Sets a square of `side` in all channels of `image` to 0. Its center is a random pixel; it is clipped at the edges
/// of the image.
pub(super) fn cut(draws: &Draws, side: usize, shape: [usize; 3], image: &mut [f32]) {
    let [_, height, width] = shape;
    let rows = around(draws.below(Purpose::CutoutY, height), side, height);
    let columns = around(draws.below(Purpose::CutoutX, width), side, width);
    for plane in image.chunks_exact_mut(height * width) {
        for row in plane[rows.start * width..rows.end * width].chunks_exact_mut(width) {
            row[columns.clone()].fill(0.0);
        }
    }
}

/// The range of `side` pixels around `middle`, clipped to 0 … `end`.
fn around(middle: usize, side: usize, end: usize) -> Range<usize> {
    let start = middle.saturating_sub(side / 2);
    start..middle.saturating_add(side - side / 2).min(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_is_cut_from_every_channel_and_cut_off_at_the_edges() {
        let shape = [2, 8, 10];
        let mut sizes = [0; 10];
        for image in 0..200 {
            let mut pixels = [1.0_f32; 160];
            cut(&Draws::new(0, 0, image), 3, shape, &mut pixels);
            let [first, second] = [&pixels[..80], &pixels[80..]];
            assert_eq!(first, second);
            sizes[first.iter().filter(|&&pixel| pixel == 0.0).count()] += 1;
        }
        // Complete in the middle, two thirds at an edge, four ninths at a corner.
        assert!(sizes[9] > 100 && sizes[6] > 0 && sizes[4] > 0, "{sizes:?}");
        assert_eq!(sizes[9] + sizes[6] + sizes[4], 200);
    }

    #[test]
    fn a_square_larger_than_the_image_leaves_nothing() {
        for side in [16, 17, usize::MAX] {
            let mut pixels = [1.0; 64];
            cut(&Draws::new(0, 0, 5), side, [1, 8, 8], &mut pixels);
            assert_eq!(pixels, [0.0; 64]);
        }
    }

    #[test]
    fn a_side_counts_pixels() {
        assert_eq!(around(4, 1, 9), 4..5);
        assert_eq!(around(4, 2, 9), 3..5);
        assert_eq!(around(4, 3, 9), 3..6);
        assert_eq!(around(0, 4, 9), 0..2);
        assert_eq!(around(8, 4, 9), 6..9);
    }
}
