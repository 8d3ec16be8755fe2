//! Random bands without spikes.

use spikelet_schema::Schema;

use super::{MAX_COUNT, SequenceAugmentation};
use crate::sample_random::SampleRandom;

/// Sets a band of neighboring channels to 0 at all time steps: its width is a random number up to a limit, its place is
/// random.
///
/// Source: D. Park et al., SpecAugment: A Simple Data Augmentation Method for Automatic Speech Recognition, 2019.
///
/// ```
/// use spikelet_data::{ChannelMask, SampleRandom, SequenceAugmentation};
///
/// let mut x = [1; 40]; // 2 steps of 20 channels
/// ChannelMask { channels: 10 }.augment(&mut x, [2, 20], &mut SampleRandom::of_sample(0, 0, 0));
/// let lost = |step: &[i32]| step.iter().filter(|value| **value == 0).count();
/// assert_eq!(lost(&x[..20]), lost(&x[20..]));
/// assert!(lost(&x[..20]) <= 10);
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct ChannelMask {
    /// The largest width of the band.
    #[schema(main, required, at_least = 1, at_most = MAX_COUNT)]
    pub channels: usize,
}

impl SequenceAugmentation for ChannelMask {
    fn augment<V: Copy + Default>(
        &self,
        values: &mut [V],
        [_, channels]: [usize; 2],
        random: &mut SampleRandom,
    ) {
        let width = random.below(self.channels.min(channels) + 1);
        let first = random.below(channels - width + 1);
        for step in values.chunks_exact_mut(channels.max(1)) {
            step[first..first + width].fill(V::default());
        }
    }
}
