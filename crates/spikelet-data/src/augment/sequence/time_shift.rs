//! Random shifts in time.

use spikelet_schema::Schema;

use super::channel_shift::shift_by;
use super::{MAX_COUNT, SequenceAugmentation, around_zero};
use crate::sample_random::SampleRandom;

/// Moves a sequence by a random number of time steps, earlier or later; steps without a source are 0.
///
/// ```
/// use spikelet_data::{SampleRandom, SequenceAugmentation, TimeShift};
///
/// let mut x = [1, 2, 3, 4, 5, 6]; // 3 steps of 2 channels
/// TimeShift { steps: 1 }.augment(&mut x, [3, 2], &mut SampleRandom::of_sample(0, 0, 4));
/// assert_eq!(x, [3, 4, 5, 6, 0, 0]);
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct TimeShift {
    /// The largest shift in both directions.
    #[schema(main, required, at_least = 1, at_most = MAX_COUNT)]
    pub steps: usize,
}

impl SequenceAugmentation for TimeShift {
    fn augment<V: Copy + Default>(
        &self,
        values: &mut [V],
        [steps, channels]: [usize; 2],
        random: &mut SampleRandom,
    ) {
        let most = steps as isize;
        let shift = around_zero(random, self.steps).clamp(-most, most);
        shift_by(values, shift * channels as isize);
    }

    fn moves_steps(&self) -> bool {
        true
    }
}
