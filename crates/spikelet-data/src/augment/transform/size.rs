//! The size of images that augmentations produce.

use super::check_range;
use crate::error::Result;

/// The largest height and width of an image that an augmentation produces.
const MAX_SIDE: usize = 1 << 15;

/// Checks the height and width of an image that an augmentation produces.
pub(super) fn check_size(transform: &'static str, size: [usize; 2]) -> Result<()> {
    for side in size {
        let good = (1..=MAX_SIDE).contains(&side);
        check_range(transform, "size", side as f64, good, "1 to 32768 pixels")?;
    }
    Ok(())
}
