//! Random scales of the channels.

use spikelet_schema::Schema;

use super::{SequenceAugmentation, random_factor};
use crate::sample_random::SampleRandom;

/// Stretches or compresses the channels of a sequence around the middle one by a factor between 1 / (1 + change) and
/// 1 + change, each channel from the nearest one; those without a source are 0. Of the channels of a cochlea, this is a
/// vocal tract of another length, together with [`ChannelShift`](super::ChannelShift).
///
/// Source: N. Jaitly, G. Hinton, Vocal Tract Length Perturbation (VTLP) improves speech recognition, 2013.
///
/// ```
/// use spikelet_data::{ChannelStretch, SampleRandom, SequenceAugmentation};
///
/// let mut x = [1, 2, 3, 4, 5, 6, 7, 8, 9]; // one step of 9 channels
/// ChannelStretch { change: 0.5 }.augment(&mut x, [1, 9], &mut SampleRandom::of_sample(0, 0, 2));
/// assert_eq!(x[4], 5);
/// assert!(x != [1, 2, 3, 4, 5, 6, 7, 8, 9]);
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct ChannelStretch {
    /// The largest change of the scale, as a part of it.
    #[schema(main, required, above = 0, at_most = 1)]
    pub change: f64,
}

impl SequenceAugmentation for ChannelStretch {
    fn augment<V: Copy + Default>(
        &self,
        values: &mut [V],
        [_, channels]: [usize; 2],
        random: &mut SampleRandom,
    ) {
        let scale = random_factor(random, self.change);
        let middle = channels as f32 / 2.0;
        let source = |channel: usize| {
            let from = middle + (channel as f32 + 0.5 - middle) * scale;
            (from >= 0.0 && from < channels as f32).then_some(from as usize)
        };
        let sources: Vec<Option<usize>> = (0..channels).map(source).collect();
        for step in values.chunks_exact_mut(channels.max(1)) {
            let before = step.to_vec();
            for (value, from) in step.iter_mut().zip(&sources) {
                *value = from.map_or(V::default(), |from| before[from]);
            }
        }
    }
}
