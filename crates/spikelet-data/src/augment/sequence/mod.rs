//! Augmentations of sequences of features, one in each file: changes of the field `x`, `[T, C]`, of a sample.
//!
//! [`registry`] lists those that [`Augment`](super::Augment) and the command line know.

mod augmentation;
mod channel_mask;
mod channel_shift;
mod channel_stretch;
mod drop_bins;
mod registry;
mod time_shift;
mod time_stretch;

pub use augmentation::SequenceAugmentation;
pub use channel_mask::ChannelMask;
pub use channel_shift::ChannelShift;
pub use channel_stretch::ChannelStretch;
pub use drop_bins::DropBins;
pub use registry::SequenceTransform;
pub use time_shift::TimeShift;
pub use time_stretch::TimeStretch;

use crate::error::Result;
use crate::image_error::ImageError;
use crate::sample_random::SampleRandom;

/// The position of the first transform among those of the sample: behind all transforms of the loader.
pub(crate) const FIRST_TRANSFORM: usize = 1 << 10;

/// The largest shift.
const MAX_SHIFT: usize = 1 << 20;

/// Checks the range of a setting.
fn check_range(
    transform: &'static str,
    field: &'static str,
    value: f64,
    good: bool,
    expected: &'static str,
) -> Result<()> {
    match good {
        true => Ok(()),
        false => Err(ImageError::Range {
            transform,
            field,
            value,
            expected,
        }
        .into()),
    }
}

/// A uniform integer from `-most` to `most`.
fn around_zero(random: &mut SampleRandom, most: usize) -> isize {
    random.below(2 * most + 1) as isize - most as isize
}
