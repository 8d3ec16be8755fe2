//! Transforms of sequences of features, one in each file with its declaration: changes of the field `x`, `[T, C]`, of a sample.
//! [`SEQUENCE_TRANSFORMS`] lists them.

mod sequence_transform;

pub use sequence_transform::{SequenceAugmentation, SequenceTransform};

use spikelet_expr::math::{exp, ln};
use spikelet_schema::members;

use crate::sample_random::SampleRandom;

members! {
    /// All transforms of sequences.
    pub static SEQUENCE_TRANSFORMS: dyn SequenceTransform = "transform of sequences" {
        channel_shift: ChannelShift;
        channel_stretch: ChannelStretch;
        channel_mask: ChannelMask;
        time_shift: TimeShift;
        time_stretch: TimeStretch;
        drop_bins: DropBins;
    }
}

/// The position of the first transform among those of the sample: behind all transforms of the loader.
pub(crate) const FIRST_TRANSFORM: usize = 1 << 10;

/// The largest number of channels or time steps of a setting.
const MAX_COUNT: usize = 1 << 20;

/// A random factor between 1 / (1 + change) and 1 + change, as often above 1 as below.
fn random_factor(random: &mut SampleRandom, change: f64) -> f32 {
    let most = ln(1.0 + change as f32);
    exp(random.between(-most, most))
}

/// A uniform integer from `-most` to `most`.
fn around_zero(random: &mut SampleRandom, most: usize) -> isize {
    random.below(2 * most + 1) as isize - most as isize
}
