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

use spikelet_expr::math::{exp, ln};

use super::transform::check_range;
use crate::error::Result;
use crate::sample_random::SampleRandom;

/// The position of the first transform among those of the sample: behind all transforms of the loader.
pub(crate) const FIRST_TRANSFORM: usize = 1 << 10;

/// The largest number of channels or time steps of a setting.
const MAX_COUNT: usize = 1 << 20;

/// Checks a number of channels or time steps.
fn check_count(
    transform: &'static str,
    field: &'static str,
    value: usize,
    expected: &'static str,
) -> Result<()> {
    let good = (1..=MAX_COUNT).contains(&value);
    check_range(transform, field, value as f64, good, expected)
}

/// Checks the change of a scale.
fn check_change(transform: &'static str, change: f64) -> Result<()> {
    let good = change > 0.0 && change <= 1.0;
    check_range(transform, "change", change, good, "above 0, at most 1")
}

/// A random factor between 1 / (1 + change) and 1 + change, as often above 1 as below.
fn random_factor(random: &mut SampleRandom, change: f64) -> f32 {
    let most = ln(1.0 + change as f32);
    exp(random.between(-most, most))
}

/// A uniform integer from `-most` to `most`.
fn around_zero(random: &mut SampleRandom, most: usize) -> isize {
    random.below(2 * most + 1) as isize - most as isize
}
