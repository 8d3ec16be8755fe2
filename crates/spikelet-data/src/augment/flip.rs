//! Horizontal flips.

use super::{Draws, Purpose};

/// Whether this image is flipped, with probability 1/2.
pub(super) fn draw(draws: &Draws) -> bool {
    draws.below(Purpose::Flip, 2) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_one_image_in_two_is_mirrored() {
        let flipped = (0..2_000).filter(|&image| draw(&Draws::new(1, 0, image)));
        assert!(flipped.count().abs_diff(1_000) < 100);
    }
}
