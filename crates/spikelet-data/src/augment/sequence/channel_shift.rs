//! Random shifts of channels.

use spikelet_schema::Schema;

use super::{MAX_COUNT, SequenceAugmentation, around_zero};
use crate::sample_random::SampleRandom;

/// Moves all channels of a sequence up or down by the same random number of channels; those without a source are 0. Of
/// the channels of a cochlea, this is another voice.
///
/// ```
/// use spikelet_data::{ChannelShift, SampleRandom, SequenceAugmentation};
///
/// let mut x = [1, 2, 3, 4, 5, 6]; // 2 steps of 3 channels
/// ChannelShift { channels: 1 }.augment(&mut x, [2, 3], &mut SampleRandom::of_sample(0, 0, 4));
/// assert_eq!(x, [2, 3, 0, 5, 6, 0]);
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct ChannelShift {
    /// The largest shift in both directions.
    #[schema(main, required, at_least = 1, at_most = MAX_COUNT)]
    pub channels: usize,
}

impl SequenceAugmentation for ChannelShift {
    fn augment<V: Copy + Default>(
        &self,
        values: &mut [V],
        [_, channels]: [usize; 2],
        random: &mut SampleRandom,
    ) {
        let shift = around_zero(random, self.channels);
        for step in values.chunks_exact_mut(channels.max(1)) {
            shift_by(step, shift);
        }
    }
}

/// Moves values by `shift` places, to the end if it is positive; places without a source get the default.
pub(super) fn shift_by<V: Copy + Default>(values: &mut [V], shift: isize) {
    let (len, by) = (values.len(), shift.unsigned_abs().min(values.len()));
    if shift >= 0 {
        values.copy_within(..len - by, by);
        values[..by].fill(V::default());
    } else {
        values.copy_within(by.., 0);
        values[len - by..].fill(V::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_are_filled_with_zeros() {
        for (shift, expected) in [
            (0, [1, 2, 3]),
            (1, [0, 1, 2]),
            (-2, [3, 0, 0]),
            (5, [0; 3]),
            (-5, [0; 3]),
        ] {
            let mut values = [1, 2, 3];
            shift_by(&mut values, shift);
            assert_eq!(values, expected, "{shift}");
        }
    }
}
